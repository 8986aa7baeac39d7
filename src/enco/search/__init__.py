"""The search for the acyclic graph with the lowest total of the objective.

============  ==============================================================================
`state`       `State`, an acyclic graph as families; `Rules` that it obeys; `Move`, a change
`moves`       moves that add, delete or reverse an edge, or exchange one parent for another
`orders`      moves that change the place of variables in the causal order
`dag`         `search`: the best moves, until none lowers the total; `MOVES`, all kinds
`stage`       `improve`: the search in a fit, its rounds and its predictors
============  ==============================================================================
"""
