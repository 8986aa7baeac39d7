"""The PyTorch engine: normalizing flows, deeper networks, GPUs, and a user's own `nn.Module`.

PyTorch and zuko are an extra, ``pip install "enco[torch]"``. Importing this package does not import them; building a
`TorchConditionals` does. Map of the modules, in reading order:

==================  ====================================================================================
`settings`          `TorchSettings`: how the networks look and train
`requirements`      are PyTorch, zuko and the device there?
`threads`           PyTorch on one thread
`rows`              rows of a regime as tensors, continuous columns standardised
`heads`             output numbers to the negative log-likelihood: registered heads, flows
`parents`           which parents each variable has, and sampled graphs over them
`network`           the built-in networks of many variables at once: additive first layer, then the rest
`centring`          an absent parent is an average one, where the head wants it
`custom`            the same interface around a user's `nn.Module`
`bank`              networks with one head, their weights, Adam moments and random stream
`banks`             which variables share a bank
`training`          distribution fitting of a bank (Eq. 1), with held-out early stopping
`effects`           paired edge effects and losses of sampled graphs of a bank
`transfer`          weights of the fused engine
`engine`            `TorchConditionals`: splits variables into banks and runs them on threads
==================  ====================================================================================
"""

from enco.conditionals.torch.engine import TorchConditionals
from enco.conditionals.torch.settings import DensityName, NetworkFactory, TorchSettings

__all__ = ["DensityName", "NetworkFactory", "TorchConditionals", "TorchSettings"]
