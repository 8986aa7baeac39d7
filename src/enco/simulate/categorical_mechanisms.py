"""Mechanisms of categorical variables: random networks, products of single conditionals, tables.

The neural and the product mechanism are those of the paper (Appendix C.1 and its last section); tables
hold arbitrary conditional probabilities, and random deterministic functions of the parents (Appendix D.4).
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.data.variables import code_dtype
from enco.errors import SettingsError
from enco.simulate.kernels import NetworkWeights, draw_from_network, draw_from_table
from enco.simulate.mechanisms import CategoricalMechanism

__all__ = ["NeuralCategorical", "ProductCategorical", "TableCategorical", "orthogonal"]

_MAX_TABLE_ENTRIES = 200_000_000
"""A larger table of conditional probabilities would need more than a gigabyte."""


class _NetworkCategorical(CategoricalMechanism):
    """softmax(out_weights @ leaky_relu(bias + sum of table rows + weighted reals) + out_bias)."""

    _drawn_with: Mapping[str, Any] = MappingProxyType({})  # options of `random`, which `redrawn` uses again

    def __init__(
        self,
        parent_levels: Sequence[int],
        *,
        tables: Sequence[ArrayLike],
        real_weights: ArrayLike,
        bias: ArrayLike,
        slope: float,
        out_weights: ArrayLike,
        out_bias: ArrayLike,
    ) -> None:
        out = np.asarray(out_weights, dtype=np.float32)
        super().__init__(parent_levels, len(out))
        hidden = out.shape[1]
        pad = -hidden % 8  # the kernel takes eight hidden units at a time
        levels = [n for n in self.parent_levels if n > 0]
        blocks = [np.asarray(table, dtype=np.float32) for table in tables]
        weights = np.asarray(real_weights, dtype=np.float32).reshape(-1, hidden)
        if [block.shape for block in blocks] != [(n, hidden) for n in levels]:
            raise SettingsError(f"the tables must have the shapes {[(n, hidden) for n in levels]}")
        if len(weights) != self.n_continuous_parents:
            raise SettingsError(f"real_weights needs {self.n_continuous_parents} rows, one per continuous parent")
        stacked = np.concatenate([np.zeros((0, hidden), np.float32), *blocks])
        self._network = NetworkWeights(
            offsets=np.cumsum([0, *levels])[:-1].astype(np.int64),
            tables=np.pad(stacked, ((0, 0), (0, pad))),
            weights=np.pad(weights, ((0, 0), (0, pad))),
            bias=np.pad(np.asarray(bias, dtype=np.float32), (0, pad)),
            slope=np.float32(slope),
            out_weights=np.pad(out, ((0, 0), (0, pad))),
            out_bias=np.array(out_bias, dtype=np.float32),
        )

    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a level index for every row; see `Mechanism.sample`."""
        drawn = np.empty(len(codes), dtype=code_dtype(self.n_levels))
        draw_from_network(
            self._network,
            np.ascontiguousarray(codes.T),
            np.ascontiguousarray(reals.T),
            rng.random(len(codes), dtype=np.float32),
            drawn,
        )
        return drawn

    def probabilities(self, codes: ArrayLike | None = None, reals: ArrayLike | None = None) -> NDArray[np.float64]:
        """Exact probabilities [rows, levels]; see `CategoricalMechanism.probabilities`."""
        parent_codes, parent_reals = self._parent_blocks(codes, reals)
        network = self._network
        hidden = network.bias + parent_reals @ network.weights.astype(np.float64)
        for offset, code in zip(network.offsets, parent_codes.T, strict=True):
            hidden = hidden + network.tables[offset + code]
        active = np.maximum(hidden, float(network.slope) * hidden)
        return _softmax(active @ network.out_weights.T.astype(np.float64) + network.out_bias)


class NeuralCategorical(_NetworkCategorical):
    """The paper's random network (Appendix C.1).

    Each categorical parent is represented by an embedding of 4 numbers; the stacked embeddings pass a linear
    layer to 48 units, LeakyReLU with slope 0.1, a linear layer to the levels, and a softmax. `random` draws
    one. The embedding and the first layer act one after the other on a level, so they are kept as one table
    [levels, hidden] per parent. A continuous parent contributes its value times a vector.

    Parameters
    ----------
    parent_levels : sequence of int
        Number of levels of each parent, 0 for a continuous one.
    tables : sequence of array_like [levels, hidden]
        What each categorical parent adds to the hidden units.
    real_weights : array_like [continuous parents, hidden]
        What a unit of each continuous parent adds.
    bias : array_like [hidden]
        Bias of the hidden units.
    slope : float
        Slope of LeakyReLU below zero.
    out_weights : array_like [levels, hidden]
        Second layer.
    out_bias : array_like [levels]
        Its bias.

    Examples
    --------
    >>> network = NeuralCategorical.random([10, 10], 10, np.random.default_rng(0))
    >>> network.probabilities([[3, 7]]).shape
    (1, 10)
    """

    @classmethod
    def random(
        cls,
        parent_levels: Sequence[int],
        n_levels: int,
        rng: np.random.Generator,
        *,
        real_means: ArrayLike | None = None,
        real_sds: ArrayLike | None = None,
        embedding: int = 4,
        hidden: int = 48,
        gain: float = 2.5,
    ) -> "CategoricalMechanism":
        """Draw a network: embeddings N(0, 1), orthogonal weights times `gain`, biases U(-0.5, 0.5).

        A variable without parents gets the softmax of standard normal numbers, since the paper describes
        networks for variables with parents only.

        Parameters
        ----------
        parent_levels : sequence of int
            Number of levels of each parent, 0 for a continuous one.
        n_levels : int
            Number of levels of the variable.
        rng : numpy.random.Generator
            Source of randomness.
        real_means, real_sds : array_like [continuous parents], optional
            A continuous parent enters as (value - mean) / sd times a random vector of `embedding` numbers; 0
            and 1 by default.
        embedding, hidden, gain
            Sizes and gain; the defaults are the paper's.
        """
        if not len(parent_levels):
            return TableCategorical(_softmax(rng.standard_normal((1, n_levels))))
        embeddings = [rng.standard_normal((max(n, 1), embedding)) for n in parent_levels]
        first = orthogonal(hidden, embedding * len(parent_levels), rng, gain=gain)
        second = orthogonal(n_levels, hidden, rng, gain=gain)
        bias = rng.uniform(-0.5, 0.5, size=hidden)
        out_bias = rng.uniform(-0.5, 0.5, size=n_levels)
        contributions = [
            vectors @ first[:, embedding * parent : embedding * (parent + 1)].T
            for parent, vectors in enumerate(embeddings)
        ]
        is_real = [n == 0 for n in parent_levels]
        tables = [table for table, real in zip(contributions, is_real, strict=True) if not real]
        directions = np.array([rows[0] for rows, real in zip(contributions, is_real, strict=True) if real])
        directions = directions.reshape(-1, hidden)
        means = np.zeros(len(directions)) if real_means is None else np.asarray(real_means, dtype=np.float64)
        sds = np.ones(len(directions)) if real_sds is None else np.asarray(real_sds, dtype=np.float64)
        scaled = directions / sds[:, None]
        made = cls(
            parent_levels,
            tables=tables,
            real_weights=scaled,
            bias=bias - means @ scaled,
            slope=0.1,
            out_weights=second,
            out_bias=out_bias,
        )
        made._drawn_with = {
            "real_means": means, "real_sds": sds, "embedding": embedding, "hidden": hidden, "gain": gain
        }  # fmt: skip
        return made

    def redrawn(self, rng: np.random.Generator) -> CategoricalMechanism:
        """Draw the network anew; see `Mechanism.redrawn`."""
        return NeuralCategorical.random(self.parent_levels, self.n_levels, rng, **self._drawn_with)


class ProductCategorical(_NetworkCategorical):
    """A product of single conditionals, one per parent, independent of each other (the paper's end).

    p(x | parents) is proportional to the product over the parents of p(x | parent), each a softmax of
    Gaussian numbers.

    Parameters
    ----------
    tables : sequence of array_like [levels of the parent, levels]
        p(x | parent) for each parent, up to a factor per row; without parents, one table [1, levels].

    Examples
    --------
    >>> product = ProductCategorical([[[0.5, 0.5], [0.9, 0.1]], [[0.5, 0.5], [0.9, 0.1]]])
    >>> product.probabilities([[0, 1], [1, 1]]).round(3)
    array([[0.9  , 0.1  ],
           [0.988, 0.012]])
    """

    def __init__(self, tables: Sequence[ArrayLike]) -> None:
        blocks = [np.asarray(table, dtype=np.float64) for table in tables]
        if not blocks or any(block.ndim != 2 or not (block > 0).all() for block in blocks):
            raise SettingsError("a product needs at least one table [levels of the parent, levels], entries above 0")
        n_levels = blocks[0].shape[1]
        logs = [np.log(block) for block in blocks]
        is_root = len(blocks) == 1 and len(blocks[0]) == 1
        # Logits are sums of table rows: the network of the kernel with nothing between its two layers.
        super().__init__(
            () if is_root else [len(block) for block in blocks],
            tables=() if is_root else logs,
            real_weights=np.zeros((0, n_levels)),
            bias=logs[0][0] if is_root else np.zeros(n_levels),
            slope=1.0,
            out_weights=np.eye(n_levels),
            out_bias=np.zeros(n_levels),
        )

    @classmethod
    def random(
        cls, parent_levels: Sequence[int], n_levels: int, rng: np.random.Generator, *, variance: float = 2.0
    ) -> "ProductCategorical":
        """Draw the logarithms of p(x | parent) from N(0, variance), up to normalisation.

        Parameters
        ----------
        parent_levels : sequence of int
            Number of levels of each parent; all must be categorical.
        n_levels : int
            Number of levels of the variable.
        rng : numpy.random.Generator
            Source of randomness.
        variance : float
            2 in the paper, which writes N(0, 2).
        """
        if any(n == 0 for n in parent_levels):
            raise SettingsError("the product mechanism needs categorical parents; use the neural one")
        made = cls(
            [
                _softmax(math.sqrt(variance) * rng.standard_normal((n, n_levels)))
                for n in (parent_levels if len(parent_levels) else [1])
            ]
        )
        made._drawn_with = {"variance": variance}
        return made

    def redrawn(self, rng: np.random.Generator) -> "ProductCategorical":
        """Draw all conditionals anew; see `Mechanism.redrawn`."""
        return ProductCategorical.random(self.parent_levels, self.n_levels, rng, **self._drawn_with)


class TableCategorical(CategoricalMechanism):
    """Arbitrary conditional probabilities, one row per configuration of the parents.

    Parameters
    ----------
    table : array_like [configurations, levels]
        Rows sum to one. The last parent changes fastest: row = (code_1 * levels_2 + code_2) * levels_3 + ...
    parent_levels : sequence of int
        Number of levels of each parent; their product is the number of configurations.

    Examples
    --------
    >>> copy = TableCategorical([[1, 0], [0, 1]], [2])
    >>> copy.probabilities([[1], [0]])
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, table: ArrayLike, parent_levels: Sequence[int] = ()) -> None:
        values = np.array(table, dtype=np.float64)
        expected = math.prod(parent_levels)
        if values.ndim != 2 or len(values) != expected or values.shape[1] < 1:
            raise SettingsError(
                f"the table of a variable whose parents have {list(parent_levels)} levels must have the "
                f"shape "
                f"[{expected}, levels], but its shape is {list(values.shape)}"
            )
        sums = values.sum(axis=1)
        # Written this way round, NaN counts as wrong too.
        wrong = np.flatnonzero(~((values >= 0).all(axis=1) & (np.abs(sums - 1.0) <= 1e-6)))
        if len(wrong):
            raise SettingsError(
                f"row {int(wrong[0])} of the table is not a probability distribution: entries must be 0 or "
                f"more "
                f"and sum to 1, but they sum to {sums[wrong[0]]:g}"
            )
        super().__init__(parent_levels, values.shape[1])
        values /= sums[:, None]
        self.table = values
        self._strides = np.array(
            [math.prod(self.parent_levels[parent + 1 :]) for parent in range(len(self.parent_levels))],
            dtype=np.int64,
        )
        self._cumulative = np.cumsum(values, axis=1).astype(np.float32)
        # A uniform number below 1 must never reach past the last possible level, whatever the rounding.
        last_possible = values.shape[1] - 1 - np.argmax(values[:, ::-1] > 0, axis=1)
        self._cumulative[np.arange(values.shape[1]) >= last_possible[:, None]] = 1.0

    @classmethod
    def random_deterministic(
        cls, parent_levels: Sequence[int], n_levels: int, rng: np.random.Generator
    ) -> "TableCategorical":
        """Draw a function of the parents: a random level for every configuration (the paper's Appendix D.4).

        Parameters
        ----------
        parent_levels : sequence of int
            Number of levels of each parent; all must be categorical.
        n_levels : int
            Number of levels of the variable.
        rng : numpy.random.Generator
            Source of randomness.
        """
        if any(n == 0 for n in parent_levels):
            raise SettingsError("a deterministic table needs categorical parents")
        configurations = math.prod(parent_levels)
        if configurations * n_levels > _MAX_TABLE_ENTRIES:
            raise SettingsError(
                f"a table for {len(parent_levels)} parents would have {configurations:,} rows; limit the "
                f"number "
                "of parents (max_parents) or of categories"
            )
        table = np.zeros((configurations, n_levels))
        table[np.arange(configurations), rng.integers(n_levels, size=configurations)] = 1.0
        return cls(table, parent_levels)

    def redrawn(self, rng: np.random.Generator) -> "TableCategorical":
        """Draw another function if it is one, else a softmax of standard normal numbers in each row."""
        if self.parent_levels and bool((self.table.max(axis=1) == 1.0).all()):
            return TableCategorical.random_deterministic(self.parent_levels, self.n_levels, rng)
        return TableCategorical(_softmax(rng.standard_normal(self.table.shape)), self.parent_levels)

    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a level index for every row; see `Mechanism.sample`."""
        drawn = np.empty(len(codes), dtype=code_dtype(self.n_levels))
        uniforms = rng.random(len(codes), dtype=np.float32)
        draw_from_table(np.ascontiguousarray(codes.T), self._strides, self._cumulative, uniforms, drawn)
        return drawn

    def probabilities(self, codes: ArrayLike | None = None, reals: ArrayLike | None = None) -> NDArray[np.float64]:
        """Exact probabilities [rows, levels]; see `CategoricalMechanism.probabilities`."""
        parent_codes, _ = self._parent_blocks(codes, reals)
        rows: NDArray[np.float64] = self.table[parent_codes @ self._strides]
        return rows


def orthogonal(rows: int, columns: int, rng: np.random.Generator, *, gain: float = 1.0) -> NDArray[np.float64]:
    """Draw a matrix with orthonormal columns, or rows if there are fewer of them, times `gain`.

    Parameters
    ----------
    rows, columns : int
        Shape.
    rng : numpy.random.Generator
        Source of randomness.
    gain : float
        Factor.

    Returns
    -------
    ndarray of float64 [rows, columns]
        Uniformly distributed over all such matrices.

    Examples
    --------
    >>> matrix = orthogonal(6, 2, np.random.default_rng(0), gain=3.0)
    >>> bool(np.allclose(matrix.T @ matrix, 9.0 * np.eye(2)))
    True
    """
    gaussian = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(gaussian)
    q *= np.where(np.diagonal(r) < 0, -1.0, 1.0)  # unique factorisation, so uniform
    matrix: NDArray[np.float64] = gain * (q if rows >= columns else q.T)
    return matrix


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normalised: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return normalised
