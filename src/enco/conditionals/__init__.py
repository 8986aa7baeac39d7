"""Conditional models: for each variable j, p(X_j given any subset of its candidate parents)."""
