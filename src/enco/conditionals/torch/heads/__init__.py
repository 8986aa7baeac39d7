"""Heads: from the output numbers of a network to the negative log-likelihood of its variable.

A head has `n_outputs`, `loss(parameters [V, ..., n_outputs], y [V, ...])` and `select(index)` for some of its
variables: the first axis is the variable, so that one call scores many networks. All-zero parameters are a sensible
first guess, because that is about where networks start.

==================  ====================================================================================
`base`              the protocol, and `continuous_head`
`tail`              the broad normal mixed into every continuous density
`categorical`       softmax over levels
`gaussian`          mean and log-variance
`dsf`               two-layer deep sigmoidal flow
`spline`            neural spline flow
==================  ====================================================================================
"""

from enco.conditionals.torch.heads.base import Head, continuous_head
from enco.conditionals.torch.heads.categorical import CategoricalHead
from enco.conditionals.torch.heads.dsf import SigmoidalFlowHead
from enco.conditionals.torch.heads.gaussian import GaussianHead

__all__ = ["CategoricalHead", "GaussianHead", "Head", "SigmoidalFlowHead", "continuous_head"]
