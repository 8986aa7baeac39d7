"""Heads: from the output numbers of a network to the negative log-likelihood of its variable.

A head has `n_outputs`, `loss(parameters [V, ..., n_outputs], y [V, ...])` and `select(index)` for some of its
variables: the first axis is the variable, so that one call scores many networks. All-zero parameters are a sensible
first guess, because that is about where networks start. The heads of `enco.conditionals.heads` are those of the fused
engine; the flows are alternatives for continuous variables.

==================  ====================================================================================
`base`              the protocol, registered heads, and `torch_head`, which chooses
`tail`              the broad normal mixed into every continuous density
`dsf`               two-layer deep sigmoidal flow
`spline`            neural spline flow
==================  ====================================================================================
"""

from enco.conditionals.torch.heads.base import RegisteredHead, TorchHead, torch_head
from enco.conditionals.torch.heads.dsf import SigmoidalFlowHead

__all__ = ["RegisteredHead", "SigmoidalFlowHead", "TorchHead", "torch_head"]
