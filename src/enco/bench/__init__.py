"""Benchmarks that a reader can run: the paper's tables and figures, the speed of a fit, the noise of its gradients.

Map of the modules:

============================  ==========================================================================
`specs/`, `spec`              one TOML file for each table and figure, and how it is read
`problem_kinds`               the kinds of problems, by name:
`problem`                     one simulated problem, fixed by its seed: data and the true graph; categorical
`continuous_problem`          the same with continuous variables or both kinds
`known_networks`              the same with known networks
`deterministic`               the same with deterministic variables and unfaithful graphs
`jobs`                        one problem for one method: its key, and its record
`runner`, `worker`            many jobs, in processes of their own
`plugins`                     methods of one's own
`records`                     records as JSON lines, found again by what they are records of
`table_metrics`, `summary`    what tables show of records; averages beside published numbers
`spec_tables`, `markup`       those as Markdown and LaTeX
`spec_figures`                as figures
`benchmarks_page`             all of them as one page
`latents`                     the score of confounded pairs while ENCO learns
`learning_curves`             precision and recall while ENCO learns
`gradient_variance`           the paper's Figure 2: noise of the three gradient estimators at equal cost
`figures`                     that, drawn
`speed`, `metering`           what a fit does per second, and how near that is to what the machine can do
`robustness`                  which graphs change with rounding, the order of the rows, the seed
`warmup`, `machine`           compilation apart from the rest; what the figures were measured on
============================  ==========================================================================

The commands `enco bench ...` draw and print; nothing here does.
"""
