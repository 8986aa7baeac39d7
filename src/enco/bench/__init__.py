"""Benchmarks that a reader can run: the paper's tables for simulated graphs, the speed of a fit, gradient variance.

Map of the modules:

======================  ================================================================================
`problem`               one simulated problem, fixed by its seed: data and the true graph; categorical variables
`continuous`            the same with continuous variables, and with both kinds
`latents`               the same with latent confounders
`deterministic`         deterministic variables and unfaithful graphs
`jobs`                  simulate, fit and evaluate many problems; one record each
`records`               records as JSON lines, found again by what they are records of
`paper`, `published`    the paper's numbers for the same problems, and others': categorical and continuous
`tables`                records beside those numbers, as Markdown
`speed`, `metering`     what a fit does per second, and how near that is to what the machine can do
`gradient_variance`     the paper's Figure 2: noise of the three gradient estimators at equal cost
`figures`               that, drawn
`warmup`, `machine`     compilation apart from the rest; what the figures were measured on
======================  ================================================================================

The commands `enco bench ...` draw and print; nothing here does.
"""
