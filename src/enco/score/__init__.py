"""What a graph is worth: one objective, a sum over variables, on losses that predictors answer for.

================  ===========================================================================================
`base`            `Predictor`: losses of a variable given some parents, in every regime
`rows`            which rows predictors learn from and are judged on: one split, one budget
`networks`        cross-fitted networks that know all sets of parents near a graph
`objective`       `Objective`: price of a family, total of a graph, the test under interventions on a cause
================  ===========================================================================================
"""
