"""Two-layer deep sigmoidal flow (Huang et al. 2018, "Neural Autoregressive Flows"; the paper's ENCO-DSF).

One layer maps a number to a number, increasing and with as many bends as it has units:

    f(x) = logit( sum_k w_k sigmoid(a_k x + b_k) ),     a_k > 0,  w on the simplex.

Two layers follow each other, and the result is standard normal. Everything a layer is made of comes out of the network.
"""

from math import log

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from enco.conditionals.torch.heads.base import Flow
from enco.conditionals.torch.heads.tail import log_normal, loss_with_tail

__all__ = ["SigmoidalFlowHead", "sigmoidal_layer"]

# A layer is nowhere steeper than its steepest unit, so this bounds the density: a copy of another column has a finite
# one. Two layers reach a slope of 100, about what the narrowest Gaussian has (standard deviation exp(-4.5)).
LARGEST_SLOPE = 10.0


def sigmoidal_layer(x: Tensor, log_slope: Tensor, shift: Tensor, log_weight: Tensor) -> tuple[Tensor, Tensor]:
    """f(x) [...] and log f'(x) [...] of one layer with parameters [..., units].

    With s = sum_k w_k sigmoid(u_k) and u = a x + b, f' = sum_k w_k a_k sigmoid(u_k) sigmoid(-u_k) / (s (1 - s)). All
    four factors stay logarithms, because s rounds to 0 or 1 for values far out.

    Examples
    --------
    >>> one_unit = [torch.tensor([value]) for value in (0.0, 0.5, 0.0)]  # slope 1, shift 0.5, weight 1
    >>> sigmoidal_layer(torch.tensor(2.0), *one_unit)
    (tensor(2.5000), tensor(0.))
    """
    u = log_slope.exp() * x.unsqueeze(-1) + shift
    below = logsigmoid(u) + log_weight
    above = below - u  # since log sigmoid(-u) = log sigmoid(u) - u
    log_s, log_rest = torch.logsumexp(below, -1), torch.logsumexp(above, -1)
    log_derivative = torch.logsumexp(below + above - log_weight + log_slope, -1) - log_s - log_rest
    return log_s - log_rest, log_derivative


class SigmoidalFlowHead(Flow):
    """p(y) = Normal(f2(f1(y)); 0, 1) f2'(f1(y)) f1'(y), with the tail mixed in.

    Parameters
    ----------
    units : int
        Units of each of the two layers; a network puts out slope, shift and weight of each unit.

    Examples
    --------
    >>> SigmoidalFlowHead(units=8).n_outputs
    48
    """

    def __init__(self, units: int = 8) -> None:
        self.units = units

    @property
    def n_outputs(self) -> int:
        """Three numbers for each unit of two layers."""
        return 6 * self.units

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of standardised values y."""
        layers = parameters.unflatten(-1, (2, 3, self.units))
        # Units that start apart from each other learn different bends; zero outputs are still close to the identity.
        apart = torch.linspace(-1.0, 1.0, self.units, device=y.device)
        z, log_derivative = y, torch.zeros_like(y)
        for layer in (0, 1):
            slope, shift, weight = layers[..., layer, :, :].unbind(-2)
            # sigmoid(slope - log(LARGEST_SLOPE - 1)) is 1 / LARGEST_SLOPE at zero output: a slope of one.
            log_slope = logsigmoid(slope - log(LARGEST_SLOPE - 1.0)) + log(LARGEST_SLOPE)
            z, term = sigmoidal_layer(z, log_slope, shift + apart, torch.log_softmax(weight, -1))
            log_derivative = log_derivative + term
        return loss_with_tail(log_normal(z) + log_derivative, y)

    def select(self, index: Tensor) -> "SigmoidalFlowHead":
        """Return itself: nothing depends on the variable."""
        return self
