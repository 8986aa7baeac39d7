"""The fused CPU engine: one small network per variable, Numba kernels, no deep-learning framework.

Map of the modules, in reading order:

==================  ====================================================================================
`layout`            where each variable's weights lie in one flat array
`random`            counter-based random streams, one per variable
`network`           hidden sums, output layer and their gradients for a block of rows
`training`          distribution fitting of one variable (Eq. 1), with held-out early stopping
`effects`           paired edge effects and losses of sampled graphs of one variable
`engine`            `FusedConditionals`: owns the arrays, runs the kernels over variables on threads
==================  ====================================================================================
"""

from enco.conditionals.fused.engine import FusedConditionals, NetworkSettings

__all__ = ["FusedConditionals", "NetworkSettings"]
