"""What a head is, and how the kernels find the loss of one: `chained`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.vector_math import FAST
from enco.data import Kind
from enco.system.compilation import njit

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Head", "chained"]


class Head(ABC):
    """The distribution of a variable of one kind given the outputs of its network; and how it enters other networks.

    A subclass is stateless; one instance of it is registered in `enco.conditionals.heads`.
    """

    name: ClassVar[str]

    kind: ClassVar[Kind]
    """Kind of the variables that have this head."""

    numeric: ClassVar[bool]
    """Whether a value is a number, found in `Regime.reals`, and as a parent x contributes x w + u to a hidden layer;
    else it is a level, found in `Regime.codes`, and contributes a row of a table."""

    standardised: ClassVar[bool] = False
    """Whether a number is centred and scaled before networks and the head itself see it."""

    logarithmic: ClassVar[bool] = False
    """Whether log(1 + value) is what networks and the head itself see of a number, not standardised: for counts, whose
    head finds the count again as exp(y) - 1."""

    centred: ClassVar[bool]
    """Whether the tables of the parents of such a variable are centred after training, so that an absent parent stands
    for an average one."""

    losses: ClassVar[Callable[..., None]]
    """Kernel (logits float32 [K, *], y float32 [*], loss float32 [*], rows, differentiate) that writes the negative
    log-likelihood of each of the first `rows` rows into `loss` and, if `differentiate`, its gradient by the outputs
    over `logits`; if not, it may use `logits` as it likes. Inlined by force, as `fused.network` explains."""

    @abstractmethod
    def n_outputs(self, n_levels: int) -> int:
        """K, the number of outputs of the network of a variable with so many levels (0 for a number)."""

    @abstractmethod
    def n_residuals(self, n_levels: int) -> int:
        """How many of the first outputs say, by the gradient of the loss, what a network left unexplained."""

    @abstractmethod
    def torch_loss(self, parameters: "Tensor", y: "Tensor", n_levels: "Tensor") -> "Tensor":
        """Loss for PyTorch: of y [V, ...] under outputs [V, ..., K] of V variables with so many levels [V].

        K is that of the variable with most outputs; those that another does not have count for nothing. The values of
        y may broadcast; they are float32, or int64 levels.
        """

    def n_rows(self, n_levels: int) -> int:
        """Rows of weights that a parent of this kind has in a network: one per level, or w and u."""
        return 2 if self.numeric else n_levels


def chained(heads: Sequence[Head]) -> Any:
    """Return the kernel losses(head, logits, y, loss, rows, differentiate) that calls the kernel of heads[head]."""
    losses = _always(heads[-1].losses)
    for code in range(len(heads) - 2, -1, -1):
        losses = _either(code, heads[code].losses, losses)
    return losses


F32 = NDArray[np.float32]


def _always(last: Callable[..., None]) -> Any:
    @njit(forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
    def losses(head: int, logits: F32, y: F32, loss: F32, rows: int, differentiate: bool) -> None:
        last(logits, y, loss, rows, differentiate)

    return losses


def _either(code: int, own: Callable[..., None], others: Callable[..., None]) -> Any:
    @njit(forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
    def losses(head: int, logits: F32, y: F32, loss: F32, rows: int, differentiate: bool) -> None:
        if head == code:
            own(logits, y, loss, rows, differentiate)
        else:
            others(head, logits, y, loss, rows, differentiate)

    return losses
