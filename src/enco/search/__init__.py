"""One search over acyclic graphs, on one objective.

============  ==============================================================================
`state`       an acyclic graph as families, and the rules that it must obey
`moves`       what can be changed: one edge, one parent for another
`orders`      what can be changed: the place of a variable in the causal order
`dag`         `search`: the best moves, until none lowers the total
============  ==============================================================================
"""
