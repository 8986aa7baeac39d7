"""Where each variable's weights lie in one flat float32 array.

The network of variable j computes, for a row x and the set of parents present in a sampled graph (paper, Section 3.2),

    h = b + sum over present parents i of e_ij(x_i),      outputs = V LeakyReLU(h) + c,

with e_ij(x) a row of a table if the parent has levels, and x w_ij + u_ij if it is a number: u says that the parent is
there, so that zero is a value like any other. What the outputs mean is a matter of the head. Block j of the flat array
holds, in this order, rows of H numbers

    b                      1 row
    tables                 one row per level of each candidate parent, or the two rows w and u, in candidate order
    V                      one row per output (K_j rows)

and then the K_j output biases c, padded to a whole row. A block is all that variable j needs (memory follows the
candidate pairs), and Adam runs over it as one vector.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.heads import VariableHeads

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Offsets into the flat weights.

    Attributes
    ----------
    hidden : int
        H, units of the hidden layer.
    start : int64 [N + 1]
        First number of each variable's block.
    table_row : int64 [P]
        For each candidate pair, the row (within its block) where the table of that parent starts.
    output_row : int64 [N]
        Row (within the block) where the output weights start.
    n_outputs : int64 [N]
        K_j.
    """

    hidden: int
    start: NDArray[np.int64]
    table_row: NDArray[np.int64]
    output_row: NDArray[np.int64]
    n_outputs: NDArray[np.int64]

    @classmethod
    def build(cls, candidates: Candidates, heads: VariableHeads, hidden: int) -> "Layout":
        """Lay out the networks of variables with these heads.

        Examples
        --------
        >>> from enco.candidates import Candidates
        >>> heads = VariableHeads.of(["categorical", "categorical"], np.array([2, 3]))
        >>> layout = Layout.build(Candidates.all_pairs(2), heads, hidden=8)
        >>> layout.start.tolist()  # 1 + 3 + 2 + 1 rows of 8, then 1 + 2 + 3 + 1 rows of 8
        [0, 56, 112]
        """
        n_variables = candidates.n_variables
        n_rows, n_outputs = heads.n_rows, heads.n_outputs
        start = np.zeros(n_variables + 1, np.int64)
        table_row = np.zeros(candidates.n_pairs, np.int64)
        output_row = np.zeros(n_variables, np.int64)
        for effect in range(n_variables):
            pairs = candidates.pairs_into(effect)
            sizes = n_rows[candidates.cause[pairs]]
            ends = 1 + np.cumsum(sizes)
            table_row[pairs] = ends - sizes
            output_row[effect] = ends[-1] if len(ends) else 1
            bias_rows = -(-int(n_outputs[effect]) // hidden)
            rows = output_row[effect] + n_outputs[effect] + bias_rows
            start[effect + 1] = start[effect] + rows * hidden
        return cls(hidden, start, table_row, output_row, n_outputs)

    @property
    def size(self) -> int:
        """Numbers in the flat array."""
        return int(self.start[-1])

    def initial_weights(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Weights uniform in ±1/sqrt(H), output biases zero: every network starts near the uniform distribution."""
        weights = rng.uniform(-1.0, 1.0, self.size).astype(np.float32)
        weights *= np.float32(1.0 / np.sqrt(self.hidden))
        first_bias = self.start[:-1] + (self.output_row + self.n_outputs) * self.hidden
        for begin, end in zip(first_bias, self.start[1:], strict=True):
            weights[begin:end] = 0.0
        return weights
