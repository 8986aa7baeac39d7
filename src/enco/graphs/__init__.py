"""Graphs as boolean matrices: ``adjacency[i, j]`` means i -> j (row = cause, column = effect)."""

from enco.graphs.dag import (
    Relation,
    ancestors,
    check_adjacency,
    is_acyclic,
    relations,
    strongly_connected_components,
    topological_order,
)
from enco.graphs.structures import STRUCTURES, add_latent_confounders, make_structure, shuffle_columns

__all__ = [
    "STRUCTURES",
    "Relation",
    "add_latent_confounders",
    "ancestors",
    "check_adjacency",
    "is_acyclic",
    "make_structure",
    "relations",
    "shuffle_columns",
    "strongly_connected_components",
    "topological_order",
]
