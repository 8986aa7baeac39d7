"""The kernels of one variable against an independent NumPy implementation in double precision.

Parents and variable are described by their numbers of levels, 0 for a continuous one.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from enco.candidates import Candidates
from enco.conditionals.fused.effects import Table, gather, graph_losses, paired_effects
from enco.conditionals.fused.layout import Layout
from enco.conditionals.fused.network import Network as Kernel
from enco.conditionals.fused.network import Pass, backward, forward, like, sample_hidden, sample_present
from enco.conditionals.fused.training import (
    Optimiser,
    Sample,
    Schedule,
    adam,
    block_loss,
    center_tables,
    fit_variable,
)
from enco.conditionals.heads import VariableHeads, losses

HIDDEN = 8
ALWAYS = 2**32
PARENTS = (2, 3, 7, 10, 1)
PARENT_KINDS = {"categorical": PARENTS, "continuous": (0, 0, 0, 0, 0), "mixed": (2, 0, 7, 0, 1)}
LEVELS = [1, 2, 3, 5, 6, 10, 11, 0]

each_kind_of_parents = pytest.mark.parametrize("parents", PARENT_KINDS.values(), ids=PARENT_KINDS.keys())


def thresholds(probability):
    return np.rint(np.asarray(probability) * 2.0**32).astype(np.uint64)


@dataclass
class Network:
    """The network of one variable, float32 for the kernels, and what NumPy needs to read it."""

    block: np.ndarray
    table_row: np.ndarray
    numeric: np.ndarray
    out_row: int
    n_out: int
    gaussian: bool

    @classmethod
    def random(cls, n_levels, rng, *, parents=PARENTS, scale=0.7):
        everyone = np.array([*parents, n_levels])
        mask = np.zeros((len(everyone), len(everyone)), bool)
        mask[:-1, -1] = True
        candidates = Candidates.from_mask(mask)
        heads = VariableHeads.of(["categorical" if count else "continuous" for count in everyone], everyone)
        layout = Layout.build(candidates, heads, HIDDEN)
        size = layout.start[-1] - layout.start[-2]
        block = (scale * rng.normal(size=size)).astype(np.float32)
        out_row, n_out = int(layout.output_row[-1]), int(layout.n_outputs[-1])
        block[(out_row + n_out) * HIDDEN + n_out :] = 0.0  # the padding after the output biases
        table_row = layout.table_row[candidates.pairs_into(len(parents))]
        numeric = (everyone[:-1] == 0).astype(np.uint8)
        return cls(block, table_row, numeric, out_row, n_out, n_levels == 0)

    @property
    def kernel(self):
        """What the kernels take."""
        return self.over(self.block)

    def over(self, block):
        rows = block.reshape(-1, HIDDEN)
        first_bias = self.out_row + self.n_out
        return Kernel(
            rows,
            self.out_row,
            rows[self.out_row : first_bias],
            block[first_bias * HIDDEN :],
            int(self.gaussian),
            self.table_row,
            self.numeric,
        )


def numpy_hidden(network, block, x, present):
    """h = b + sum over present parents of a table row, or of x w + u, [R, H]."""
    weights = block.reshape(-1, HIDDEN)
    h = np.tile(weights[0], (len(x), 1))
    for c, row in enumerate(network.table_row):
        if network.numeric[c]:
            contribution = np.outer(x[:, c].astype(np.float64), weights[row]) + weights[row + 1]
        else:
            contribution = weights[row + x[:, c].astype(int)]
        h += contribution * present[:, c, None]
    return h


def numpy_outputs(network, block, h):
    weights = block.reshape(-1, HIDDEN)
    a = np.where(h > 0, h, 0.1 * h)
    first_bias = (network.out_row + network.n_out) * HIDDEN
    bias = block[first_bias : first_bias + network.n_out]
    return a @ weights[network.out_row : network.out_row + network.n_out].T + bias


def numpy_terms(out, y):
    """Log of what the network and the tail contribute to the density of a continuous variable."""
    deviation = np.exp(0.5 * np.clip(out[:, 1], -9.0, 4.0))
    return np.log(0.99) + norm.logpdf(y, out[:, 0], deviation), np.log(0.01) + norm.logpdf(y, 0.0, 5.0)


def numpy_losses(network, block, x, y, present):
    """Negative log-likelihood of each row, [R]."""
    out = numpy_outputs(network, block, numpy_hidden(network, block, x, present))
    if network.gaussian:
        return -np.logaddexp(*numpy_terms(out, y.astype(np.float64)))
    return np.logaddexp.reduce(out, axis=1) - out[np.arange(len(y)), y.astype(int)]


def numpy_output_gradient(network, out, y):
    """Gradient of the loss of each row by the outputs, [R, K]."""
    if not network.gaussian:
        p = np.exp(out - np.logaddexp.reduce(out, axis=1, keepdims=True))
        return p - np.eye(network.n_out)[y.astype(int)]
    of_network, of_tail = numpy_terms(out, y.astype(np.float64))
    share = np.exp(of_network - np.logaddexp(of_network, of_tail))
    variance = np.exp(np.clip(out[:, 1], -9.0, 4.0))
    error = y - out[:, 0]
    inside = (out[:, 1] > -9.0) & (out[:, 1] < 4.0)
    return np.column_stack([-share * error / variance, 0.5 * share * (1 - error**2 / variance) * inside])


def numpy_gradient(network, block, x, y, present):
    """Gradient of the mean loss with respect to every number of the block, by the chain rule."""
    weights = block.reshape(-1, HIDDEN)
    h = numpy_hidden(network, block, x, present)
    d_out = numpy_output_gradient(network, numpy_outputs(network, block, h), y) / len(y)
    d_h = d_out @ weights[network.out_row : network.out_row + network.n_out] * np.where(h > 0, 1.0, 0.1)
    gradient = np.zeros_like(block)
    by_row = gradient.reshape(-1, HIDDEN)
    by_row[0] = d_h.sum(axis=0)
    for c, row in enumerate(network.table_row):
        received = d_h * present[:, c, None]
        if network.numeric[c]:
            by_row[row] = x[:, c].astype(np.float64) @ received
            by_row[row + 1] = received.sum(axis=0)
        else:
            np.add.at(by_row, row + x[:, c].astype(int), received)
    by_row[network.out_row : network.out_row + network.n_out] = d_out.T @ np.where(h > 0, h, 0.1 * h)
    first_bias = (network.out_row + network.n_out) * HIDDEN
    gradient[first_bias : first_bias + network.n_out] = d_out.sum(axis=0)
    return gradient


def random_column(n_levels, rows, rng):
    return (rng.integers(n_levels, size=rows) if n_levels else rng.normal(size=rows)).astype(np.float32)


def random_rows(rows, n_levels, rng, parents=PARENTS):
    x = np.column_stack([random_column(count, rows, rng) for count in parents])
    return x, random_column(n_levels, rows, rng)


def run_forward(network, x, present, rows):
    """Run the kernels up to the outputs; the buffers are longer than needed, and dirty."""
    h = np.full((rows + 3, HIDDEN), 9.0, np.float32)
    a = np.full((rows + 3, HIDDEN), 9.0, np.float32)
    logits = np.full((network.n_out, rows + 3), 9.0, np.float32)
    work = Pass(present, h, a, logits, np.empty(rows, np.float32))
    forward(network.kernel, x, work, rows)
    return work


# Forward pass


@each_kind_of_parents
@pytest.mark.parametrize("n_levels", LEVELS)
@pytest.mark.parametrize("rows", [1, 2, 7, 32])
def test_forward_pass_and_losses(n_levels, rows, parents):
    rng = np.random.default_rng([n_levels, rows])
    network = Network.random(n_levels, rng, parents=parents)
    x, y = random_rows(rows, n_levels, rng, parents)
    present = rng.integers(2, size=x.shape).astype(np.uint8)
    work = run_forward(network, x, present, rows)
    h, a, logits = work.h, work.a, work.logits
    block = network.block.astype(np.float64)
    expected_h = numpy_hidden(network, block, x, present)
    np.testing.assert_allclose(h[:rows], expected_h, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(a[:rows], np.where(expected_h > 0, expected_h, 0.1 * expected_h), rtol=1e-5, atol=1e-5)
    expected = numpy_outputs(network, block, expected_h)
    np.testing.assert_allclose(logits[:, :rows].T, expected, rtol=1e-5, atol=2e-5)

    loss = np.empty(rows, np.float32)
    losses(int(network.gaussian), logits.copy(), y, loss, rows, False)
    np.testing.assert_allclose(loss, numpy_losses(network, block, x, y, present), rtol=2e-5, atol=2e-5)

    # The same loss again, and its gradient in place of the outputs.
    loss_again = np.empty(rows, np.float32)
    losses(int(network.gaussian), logits, y, loss_again, rows, True)
    np.testing.assert_allclose(loss_again, loss, rtol=1e-5, atol=2e-6)
    gradient = numpy_output_gradient(network, expected, y)
    rtol = 5e-5 if n_levels else 2e-4  # a small error of the mean is a large one of the gradient where variance is low
    np.testing.assert_allclose(logits[:, :rows].T, gradient, rtol=rtol, atol=4e-7 * max(1.0, np.abs(gradient).max()))


def test_the_distribution_sums_to_one():
    """exp(-loss) over all levels of the variable is a distribution, for any parents."""
    rng = np.random.default_rng(0)
    network = Network.random(11, rng, scale=2.0)
    x, _ = random_rows(20, 11, rng)
    present = rng.integers(2, size=x.shape).astype(np.uint8)
    total = np.zeros(20)
    for level in range(11):
        logits = run_forward(network, x, present, 20).logits
        loss = np.empty(20, np.float32)
        losses(0, logits, np.full(20, level, np.float32), loss, 20, False)
        total += np.exp(-loss.astype(np.float64))
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


@pytest.mark.parametrize("differentiate", [False, True])
def test_huge_logits_give_finite_losses(differentiate):
    logits = np.array([[1e6, -1e6, 80.0], [-1e6, -1e6, 0.0], [0.0, -1e6, -80.0]], np.float32)
    loss = np.empty(3, np.float32)
    losses(0, logits, np.array([1, 0, 2], np.float32), loss, 3, differentiate)
    # Clamped to the range of the exponential: 60 - (-60), three equal logits, 60 - (-60).
    np.testing.assert_allclose(loss, [120.0, np.log(3.0), 120.0], rtol=1e-6)
    if differentiate:  # softmax minus one at the level that was seen
        third = 1.0 / 3.0
        np.testing.assert_allclose(logits.T, [[1, -1, 0], [third - 1, third, third], [1, 0, -1]], atol=1e-6)


# Gradient


@each_kind_of_parents
@pytest.mark.parametrize("n_levels", LEVELS)
@pytest.mark.parametrize("rows", [1, 5, 16])
def test_gradient_is_that_of_numpy_and_of_finite_differences(n_levels, rows, parents):
    rng = np.random.default_rng([n_levels, rows, 1])
    network = Network.random(n_levels, rng, parents=parents, scale=0.7 if n_levels else 0.4)
    x, y = random_rows(rows, n_levels, rng, parents)
    present = rng.integers(2, size=x.shape).astype(np.uint8)
    block = network.block.astype(np.float64)
    expected = numpy_gradient(network, block, x, y, present)

    differences = np.empty_like(block)
    step = 1e-6
    for k in range(len(block)):
        shift = np.zeros_like(block)
        shift[k] = step
        up = numpy_losses(network, block + shift, x, y, present).mean()
        down = numpy_losses(network, block - shift, x, y, present).mean()
        differences[k] = (up - down) / (2 * step)
    np.testing.assert_allclose(expected, differences, rtol=1e-7, atol=1e-8)

    gradient = kernel_gradient(network, x, y, present)
    np.testing.assert_allclose(gradient, expected, rtol=2e-4, atol=2e-6 * max(1.0, np.abs(expected).max()))


def kernel_gradient(network, x, y, present, into=None):
    rows = len(y)
    work = run_forward(network, x, present, rows)
    losses(int(network.gaussian), work.logits, y, work.loss, rows, True)
    gradient = np.zeros_like(network.block) if into is None else into
    backward(network.kernel, like(network.kernel, gradient), x, work, rows)
    return gradient


@pytest.mark.parametrize("n_levels", [4, 0])
def test_gradient_adds_to_what_is_there(n_levels):
    rng = np.random.default_rng(2)
    network = Network.random(n_levels, rng, parents=PARENT_KINDS["mixed"])
    x, y = random_rows(9, n_levels, rng, PARENT_KINDS["mixed"])
    present = np.ones(x.shape, np.uint8)
    once = kernel_gradient(network, x, y, present)
    start = rng.normal(size=len(once)).astype(np.float32)
    found = kernel_gradient(network, x, y, present, into=start.copy())
    np.testing.assert_allclose(found, start + once, rtol=1e-5, atol=1e-6)


def test_absent_parents_and_absent_levels_have_no_gradient():
    rng = np.random.default_rng(3)
    network = Network.random(3, rng)
    x, y = random_rows(12, 3, rng)
    x[:, 2] = 4
    present = np.ones(x.shape, np.uint8)
    present[:, 1] = 0
    by_row = kernel_gradient(network, x, y, present).reshape(-1, HIDDEN)
    absent = slice(network.table_row[1], network.table_row[1] + PARENTS[1])
    assert not by_row[absent].any()
    table = by_row[network.table_row[2] : network.table_row[2] + PARENTS[2]]
    assert table[4].any()
    assert not np.delete(table, 4, axis=0).any()


@pytest.mark.parametrize("n_levels", [3, 0])
def test_a_continuous_parent_at_zero_is_present_all_the_same(n_levels):
    """Its slope w learns nothing from a zero, its presence u does; absent, neither does."""
    rng = np.random.default_rng(12)
    parents = PARENT_KINDS["mixed"]
    network = Network.random(n_levels, rng, parents=parents)
    x, y = random_rows(12, n_levels, rng, parents)
    x[:, 1] = 0.0
    present = np.ones(x.shape, np.uint8)
    present[:, 3] = 0
    by_row = kernel_gradient(network, x, y, present).reshape(-1, HIDDEN)
    assert not by_row[network.table_row[1]].any()
    assert by_row[network.table_row[1] + 1].any()
    assert not by_row[network.table_row[3] : network.table_row[3] + 2].any()
    without = present.copy()
    without[:, 1] = 0
    h, h_without = (run_forward(network, x, graph, 12).h for graph in (present, without))
    u = network.block.reshape(-1, HIDDEN)[network.table_row[1] + 1]
    np.testing.assert_allclose(h[:12] - h_without[:12], np.tile(u, (12, 1)), atol=1e-6)


def test_the_only_level_of_a_constant_variable_costs_nothing():
    rng = np.random.default_rng(4)
    network = Network.random(1, rng)
    x, y = random_rows(9, 1, rng)
    present = np.ones(x.shape, np.uint8)
    assert np.abs(kernel_gradient(network, x, y, present)).max() < 1e-6
    mean_loss = np.empty(1, np.float32)
    graph_losses(network.kernel, x, y, np.ones((1, len(PARENTS)), np.uint8), mean_loss)
    assert abs(mean_loss[0]) < 1e-6


# Optimiser


@pytest.mark.parametrize("weight_decay", [0.0, 1e-2])
def test_adam_against_a_plain_reference(weight_decay):
    rng = np.random.default_rng(5)
    weights = rng.normal(size=37).astype(np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    w = weights.astype(np.float64)
    m, v = np.zeros(37), np.zeros(37)
    for step in range(1, 31):
        gradient = (rng.normal(size=37) * 10.0 ** rng.integers(-3, 2)).astype(np.float32)
        g = gradient + weight_decay * w
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        w -= 5e-3 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        adam(weights, gradient, first, second, step, 5e-3, weight_decay)
        assert not gradient.any()
    np.testing.assert_allclose(weights, w, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(first, m, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(second, v, rtol=1e-4, atol=1e-9)


def test_adam_leaves_zeros_without_gradient_alone():
    """The padding of a block has neither weights nor gradients."""
    zeros = [np.zeros(5, np.float32) for _ in range(4)]
    for step in range(1, 4):
        adam(*zeros, step, 1e-2, 1e-2)
    assert not np.any(zeros)


# Sampler


@pytest.mark.parametrize("probability", [[0.3], [0.1, 0.9], [0.25, 0.5, 0.03], [0.6, 0.01, 0.99, 0.4, 0.75]])
def test_sampled_frequencies(probability):
    rows = 100_000
    present = np.empty((rows, len(probability)), np.uint8)
    sample_present(np.array([12345], np.uint64), thresholds(probability), present, rows)
    assert set(np.unique(present)) == {0, 1}
    p = np.array(probability)
    deviation = np.sqrt(p * (1 - p) / rows)
    assert (np.abs(present.mean(axis=0) - p) < 5 * deviation).all()
    if len(p) > 1:  # one 64-bit draw decides two edges: they must not know of each other
        correlation = np.corrcoef(present.T)[np.triu_indices(len(p), 1)]
        assert (np.abs(correlation) < 5 / np.sqrt(rows)).all()


def test_never_and_always_are_exact():
    rows = 200_000
    present = np.empty((rows, 5), np.uint8)
    sample_present(np.array([7], np.uint64), thresholds([0.0, 1.0, 0.5, 1.0, 0.0]), present, rows)
    assert present.mean(axis=0)[[0, 1, 3, 4]].tolist() == [0.0, 1.0, 1.0, 0.0]
    assert thresholds([1.0])[0] == ALWAYS


def split_mix(state):
    """One step of SplitMix64: the new state and 64 random bits, in whole numbers of Python."""
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return state, z ^ (z >> 31)


def test_split_mix_is_the_published_generator():
    """First outputs for seed 1234567, from the reference implementation."""
    state, found = 1234567, []
    for _ in range(3):
        state, bits = split_mix(state)
        found.append(bits)
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def numpy_present(state, probability, rows):
    """What `sample_present` draws: the low half of the bits decides the first edge of two, the high half the second."""
    limit = thresholds(probability).tolist()
    present = np.zeros((rows, len(limit)), np.uint8)
    for r in range(rows):
        for c in range(0, len(limit), 2):
            state, bits = split_mix(state)
            present[r, c] = (bits & 0xFFFFFFFF) < limit[c]
            if c + 1 < len(limit):
                present[r, c + 1] = (bits >> 32) < limit[c + 1]
    return state, present


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_the_stream_is_its_state(count):
    probability = np.linspace(0.2, 0.8, count)
    stream = np.array([99], np.uint64)
    present = np.zeros((13, count), np.uint8)
    sample_present(stream, thresholds(probability), present, 13)
    state, expected = numpy_present(99, probability, 13)
    assert present.tolist() == expected.tolist()
    assert int(stream[0]) == state


# Losses of whole graphs, and paired effects


SHAPES = [(2, 1), (3, 31), (5, 32), (10, 33), (11, 77), (0, 1), (0, 32), (0, 77)]


@each_kind_of_parents
@pytest.mark.parametrize(("n_levels", "rows"), SHAPES)
def test_graph_losses(n_levels, rows, parents):
    rng = np.random.default_rng([n_levels, rows, 2])
    network = Network.random(n_levels, rng, parents=parents)
    x, y = random_rows(rows, n_levels, rng, parents)
    graphs = rng.integers(2, size=(6, len(parents))).astype(np.uint8)
    graphs[0], graphs[1] = 0, 1
    mean_loss = np.empty(6, np.float32)
    graph_losses(network.kernel, x, y, graphs, mean_loss)
    block = network.block.astype(np.float64)
    expected = [numpy_losses(network, block, x, y, np.tile(graph, (rows, 1))).mean() for graph in graphs]
    np.testing.assert_allclose(mean_loss, expected, rtol=2e-5, atol=1e-5)


@each_kind_of_parents
@pytest.mark.parametrize(("n_levels", "rows"), SHAPES)
def test_paired_effects(n_levels, rows, parents):
    rng = np.random.default_rng([n_levels, rows, 3])
    network = Network.random(n_levels, rng, parents=parents)
    x, y = random_rows(rows, n_levels, rng, parents)
    limit = thresholds([0.5, 0.0, 1.0, 0.9, 0.05])
    stream = np.array([rows], np.uint64)
    copy = stream.copy()
    effect = np.full(len(parents), np.nan)
    base = paired_effects(
        network.kernel, x, y, limit, stream, np.ones(len(parents), np.uint8), effect
    )  # fmt: skip

    present = np.empty(x.shape, np.uint8)
    sample_present(copy, limit, present, rows)
    assert stream[0] == copy[0]
    block = network.block.astype(np.float64)
    assert base == pytest.approx(numpy_losses(network, block, x, y, present).mean(), rel=2e-5)
    for c in range(len(parents)):
        with_edge, without = present.copy(), present.copy()
        with_edge[:, c], without[:, c] = 1, 0
        difference = numpy_losses(network, block, x, y, with_edge) - numpy_losses(network, block, x, y, without)
        assert effect[c] == pytest.approx(difference.mean(), rel=1e-4, abs=2e-5)


def test_effects_not_wanted_keep_their_value():
    rng = np.random.default_rng(6)
    network = Network.random(4, rng)
    x, y = random_rows(40, 4, rng)
    limit = thresholds(np.full(len(PARENTS), 0.5))
    everything, some = np.full(len(PARENTS), 7.0), np.full(len(PARENTS), 7.0)
    paired_effects(network.kernel, x, y, limit, np.array([1], np.uint64), np.ones(len(PARENTS), np.uint8), everything)
    wanted = np.array([1, 0, 0, 1, 0], np.uint8)
    paired_effects(network.kernel, x, y, limit, np.array([1], np.uint64), wanted, some)
    assert some.tolist() == np.where(wanted, everything, 7.0).tolist()


def read_only(array):
    array.flags.writeable = False  # as the rows of a regime are
    return array


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_gather_picks_rows_and_columns(dtype):
    codes = read_only(np.arange(24, dtype=dtype).reshape(6, 4))
    reals = read_only(np.zeros((6, 0), np.float32))
    table = Table(codes, reals, np.arange(4), *np.zeros((2, 4), np.uint8), np.zeros(4), np.ones(4))
    rows, columns = np.array([5, 0, 0]), np.array([3, 1])
    out = np.zeros((3, 2), np.float32)
    gather(table, rows, columns, out)
    assert out.tolist() == codes[np.ix_(rows, columns)].tolist()


def test_gather_standardises_and_clips():
    """Variables 0 and 2 are continuous; 3 is too, but constant: its inverse scale is 0, and so is its value."""
    codes = read_only(np.array([[0], [1], [2], [1]], np.uint8))
    reals = np.array([[1.0, 1e6, 7.0], [3.0, -1e6, 7.0], [5.0, 11.0, 7.0], [-1.0, 10.0, 1e30]], np.float32)
    table = Table(
        codes,
        read_only(reals),
        np.array([0, 0, 1, 2]),
        np.array([1, 0, 1, 1], np.uint8),
        np.zeros(4, np.uint8),
        np.array([3.0, 0.0, 10.0, 7.0]),
        np.array([0.5, 1.0, 2.0, 0.0]),
    )
    out = np.full((4, 5), np.nan, np.float32)
    gather(table, np.array([3, 2, 1, 0]), np.array([2, 1, 0, 3, 0]), out)
    expected = [[0, 1, -2, 0, -2], [2, 2, 1, 0, 1], [-10, 1, 0, 0, 0], [10, 0, -1, 0, -1]]
    assert out.tolist() == expected


def test_gather_takes_logarithms_and_clips():
    codes, reals = np.zeros((3, 0), np.uint8), read_only(np.array([[0.0], [6.0], [1e9]], np.float32))
    one = np.ones(1, np.uint8)
    table = Table(read_only(codes), reals, np.array([0]), one, one, np.zeros(1), np.ones(1))
    out = np.empty((3, 1), np.float32)
    gather(table, np.arange(3), np.array([0]), out)
    np.testing.assert_allclose(out[:, 0], [0.0, np.log(7.0), 10.0], rtol=1e-6)


# Training


@pytest.mark.parametrize("n_levels", [5, 0])
@each_kind_of_parents
def test_block_loss_draws_one_graph_per_row(n_levels, parents):
    rng = np.random.default_rng(8)
    network = Network.random(n_levels, rng, parents=parents)
    rows = 300  # more than two blocks
    x, y = random_rows(rows, n_levels, rng, parents)
    probability = [0.5, 0.2, 1.0, 0.7, 0.0]
    found = block_loss(network.kernel, x, y, thresholds(probability), np.array([3], np.uint64))
    _, present = numpy_present(3, probability, rows)
    expected = numpy_losses(network, network.block.astype(np.float64), x, y, present).mean()
    assert found == pytest.approx(expected, rel=1e-5)


def train(network, x, y, x_held, y_held, probability, state, **options):
    """Run the training kernel on copies; returns (block, stream, counter, held-out loss, steps)."""
    options = {"steps": 4, "batch": 16, "learning_rate": 5e-3, "weight_decay": 1e-2, **options}
    options = {"check_every": 2, "patience": 4, **options}
    block = network.block.copy()
    optimiser = Optimiser(
        np.zeros_like(block), np.zeros_like(block), np.zeros(1, np.int64), np.array([state], np.uint64)
    )
    held, taken = fit_variable(
        network.over(block), optimiser, Sample(x, y, x_held, y_held), thresholds(probability), Schedule(**options)
    )
    stream, counter = optimiser.stream, optimiser.counter
    return block, int(stream[0]), int(counter[0]), held, taken


@pytest.mark.parametrize("batch", [16, 5, 1])
@pytest.mark.parametrize(
    ("n_levels", "parents"), [(3, PARENTS), (3, PARENT_KINDS["mixed"]), (0, PARENT_KINDS["mixed"])]
)
def test_training_is_adam_on_sampled_rows_and_graphs(batch, n_levels, parents):
    rng = np.random.default_rng(9)
    network = Network.random(n_levels, rng, parents=parents)
    x, y = random_rows(41, n_levels, rng, parents)
    x_held, y_held = random_rows(20, n_levels, rng, parents)
    probability = [0.5, 0.3, 0.8, 0.9, 0.1]
    block, stream, counter, held, taken = train(network, x, y, x_held, y_held, probability, 77, batch=batch, steps=4)

    state, held_state = split_mix(77)
    _, held_present = numpy_present(held_state, probability, 20)

    def held_out_loss(w):
        return numpy_losses(network, w, x_held, y_held, held_present).mean()

    w = network.block.astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    best, best_loss = w.copy(), held_out_loss(w)
    for step in range(1, 5):
        picked = np.zeros(batch, np.int64)
        for r in range(batch):
            state, bits = split_mix(state)
            picked[r] = ((bits >> 32) * 41) >> 32
        state, present = numpy_present(state, probability, batch)
        g = numpy_gradient(network, w, x[picked], y[picked], present) + 1e-2 * w
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        w = w - 5e-3 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        if step % 2 == 0 and held_out_loss(w) < best_loss:
            best, best_loss = w, held_out_loss(w)
    assert (stream, counter, taken) == (state, 4, 4)
    assert held == pytest.approx(best_loss, rel=1e-5)
    np.testing.assert_allclose(block, best, atol=2e-4)
    assert np.abs(block - best).mean() < 2e-6


def test_training_without_steps_changes_nothing():
    rng = np.random.default_rng(10)
    network = Network.random(3, rng)
    x, y = random_rows(30, 3, rng)
    block, _, counter, _, taken = train(network, x, y, x, y, [0.5] * 5, 1, steps=0)
    assert block.tobytes() == network.block.tobytes()
    assert (counter, taken) == (0, 0)


def test_training_stops_after_fruitless_looks_and_keeps_the_best_weights():
    """The rows held out contradict the training rows, so every step makes the held-out loss worse."""
    rng = np.random.default_rng(11)
    network = Network.random(2, rng, scale=0.05)
    x, y = random_rows(50, 2, rng)
    y[:] = 0
    block, _, counter, held, taken = train(network, x, y, x, y + np.float32(1), [1.0] * 5, 1, steps=100, patience=3)
    assert taken == counter == 6  # three looks, one every two steps
    assert block.tobytes() == network.block.tobytes()
    everything = np.ones(x.shape)
    expected = numpy_losses(network, network.block.astype(np.float64), x, y + np.float32(1), everything).mean()
    assert held == pytest.approx(expected, rel=1e-5)


CENTRED = {"categorical": [2, 3, 4], "mixed": [2, 0, 4], "continuous last": [2, 3, 0]}


@pytest.mark.parametrize("levels", CENTRED.values(), ids=CENTRED.keys())
def test_centring_moves_means_into_the_bias(levels):
    """With every parent always present nothing changes; the two rows of a continuous parent never do."""
    rng = np.random.default_rng(0)
    hidden, rows = 8, 50
    widths = [count or 2 for count in levels]
    numeric = (np.array(levels) == 0).astype(np.uint8)
    table_row = 1 + np.cumsum([0, *widths[:-1]]).astype(np.int64)
    out_row = 1 + sum(widths)
    weights = rng.normal(size=(out_row + 2, hidden)).astype(np.float32)
    untouched = weights.copy()
    x = np.column_stack([random_column(count, rows, rng) for count in levels])
    present = np.ones((rows, 3), np.uint8)
    before, after = (np.empty((rows, hidden), np.float32) for _ in range(2))
    network = Kernel(weights, out_row, weights[out_row : out_row + 1], weights[out_row + 1], 0, table_row, numeric)
    sample_hidden(network, x, present, before, rows)
    center_tables(network, x, np.full(3, 2**32, np.uint64))
    sample_hidden(network, x, present, after, rows)
    np.testing.assert_allclose(after, before, atol=1e-5)
    assert (weights[out_row:] == untouched[out_row:]).all()
    for c in range(3):
        part = slice(table_row[c], table_row[c] + widths[c])
        if numeric[c]:
            assert (weights[part] == untouched[part]).all()
        else:
            assert (weights[part] != untouched[part]).any()
            np.testing.assert_allclose(weights[table_row[c] + x[:, c].astype(int)].mean(axis=0), 0.0, atol=1e-6)
