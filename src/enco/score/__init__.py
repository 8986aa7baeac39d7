"""The objective of a graph: a sum over variables of losses, which predictors estimate, and penalties of edges.

================  ===========================================================================================
`base`            `Predictor`: losses of one variable given a set of parents, in every regime
`rows`            `Sample`: which rows predictors learn from and are judged on; one split, one budget
`networks`        cross-fitted networks that know the sets of parents near a graph
`tables`          smoothed tables of counts, for categorical variables with categorical parents
`regression`      cross-fitted regressions on exactly the parents, for continuous variables
`objective`       `Objective`: price of a family, total of a graph, loss under interventions on a cause
`confounding`     which pairs of a graph share a latent confounder, by tests on the same rows
================  ===========================================================================================
"""
