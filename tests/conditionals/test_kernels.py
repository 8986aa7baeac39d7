"""The kernels of one variable against an independent NumPy implementation in double precision."""

from dataclasses import dataclass

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.fused.effects import gather, graph_losses, paired_effects
from enco.conditionals.fused.layout import Layout
from enco.conditionals.fused.network import backward, losses, outputs, sample_hidden, sample_present
from enco.conditionals.fused.training import activate, adam, block_loss, center_tables, fit_variable

HIDDEN = 8
ALWAYS = 2**32
PARENTS = (2, 3, 7, 10, 1)  # levels of the candidate parents
OUTPUTS = [1, 2, 3, 5, 6, 10, 11]


def thresholds(probability):
    return np.rint(np.asarray(probability) * 2.0**32).astype(np.uint64)


@dataclass
class Network:
    """The network of one variable, float32 for the kernels, and what NumPy needs to read it."""

    block: np.ndarray
    table_row: np.ndarray
    out_row: int
    n_out: int

    @classmethod
    def random(cls, n_out, rng, *, parents=PARENTS, scale=0.7):
        n_levels = np.array([*parents, n_out])
        mask = np.zeros((len(n_levels), len(n_levels)), bool)
        mask[:-1, -1] = True
        candidates = Candidates.from_mask(mask)
        layout = Layout.build(candidates, n_levels, HIDDEN)
        size = layout.start[-1] - layout.start[-2]
        block = (scale * rng.normal(size=size)).astype(np.float32)
        out_row = int(layout.output_row[-1])
        block[(out_row + n_out) * HIDDEN + n_out :] = 0.0  # the padding after the output biases
        return cls(block, layout.table_row[candidates.pairs_into(len(parents))], out_row, n_out)

    @property
    def arguments(self):
        return self.block, HIDDEN, self.out_row, self.n_out, self.table_row

    @property
    def out_w(self):
        return self.block.reshape(-1, HIDDEN)[self.out_row : self.out_row + self.n_out]

    @property
    def out_b(self):
        return self.block[(self.out_row + self.n_out) * HIDDEN :]


def numpy_hidden(network, block, x, present):
    """h = b + sum over present parents of their table rows, [R, H]."""
    weights = block.reshape(-1, HIDDEN)
    contribution = weights[network.table_row + x]  # [R, k, H]
    return weights[0] + (contribution * present[..., None]).sum(axis=1)


def numpy_logits(network, block, h):
    weights = block.reshape(-1, HIDDEN)
    a = np.where(h > 0, h, 0.1 * h)
    first_bias = (network.out_row + network.n_out) * HIDDEN
    bias = block[first_bias : first_bias + network.n_out]
    return a @ weights[network.out_row : network.out_row + network.n_out].T + bias


def numpy_losses(network, block, x, y, present):
    """Negative log-likelihood of each row, [R]."""
    logits = numpy_logits(network, block, numpy_hidden(network, block, x, present))
    return np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(y)), y]


def numpy_gradient(network, block, x, y, present):
    """Gradient of the mean loss with respect to every number of the block, by the chain rule."""
    rows = len(y)
    weights = block.reshape(-1, HIDDEN)
    h = numpy_hidden(network, block, x, present)
    logits = numpy_logits(network, block, h)
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    d_logits = (p - np.eye(network.n_out)[y]) / rows
    d_h = d_logits @ weights[network.out_row : network.out_row + network.n_out] * np.where(h > 0, 1.0, 0.1)
    gradient = np.zeros_like(block)
    by_row = gradient.reshape(-1, HIDDEN)
    by_row[0] = d_h.sum(axis=0)
    for c, first in enumerate(network.table_row):
        np.add.at(by_row, first + x[:, c], d_h * present[:, c, None])
    by_row[network.out_row : network.out_row + network.n_out] = d_logits.T @ np.where(h > 0, h, 0.1 * h)
    first_bias = (network.out_row + network.n_out) * HIDDEN
    gradient[first_bias : first_bias + network.n_out] = d_logits.sum(axis=0)
    return gradient


def random_rows(rows, n_out, rng, parents=PARENTS):
    x = rng.integers(parents, size=(rows, len(parents))).astype(np.uint16)
    y = rng.integers(n_out, size=rows).astype(np.uint16)
    return x, y


def forward(network, x, present, rows):
    """Run the kernels up to the logits; the buffers are longer than needed, and dirty."""
    h = np.full((rows + 3, HIDDEN), 9.0, np.float32)
    a = np.full((rows + 3, HIDDEN), 9.0, np.float32)
    logits = np.full((network.n_out, rows + 3), 9.0, np.float32)
    sample_hidden(network.block.reshape(-1, HIDDEN), network.table_row, x, present, h, rows)
    activate(h, a, rows)
    outputs(a, network.out_w, network.out_b, logits, rows)
    return h, a, logits


# Forward pass


@pytest.mark.parametrize("n_out", OUTPUTS)
@pytest.mark.parametrize("rows", [1, 2, 7, 32])
def test_forward_pass_and_losses(n_out, rows):
    rng = np.random.default_rng([n_out, rows])
    network = Network.random(n_out, rng)
    x, y = random_rows(rows, n_out, rng)
    present = rng.integers(2, size=x.shape).astype(np.uint8)
    h, a, logits = forward(network, x, present, rows)
    block = network.block.astype(np.float64)
    expected_h = numpy_hidden(network, block, x, present)
    np.testing.assert_allclose(h[:rows], expected_h, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(a[:rows], np.where(expected_h > 0, expected_h, 0.1 * expected_h), rtol=1e-5, atol=1e-5)
    expected = numpy_logits(network, block, expected_h)
    np.testing.assert_allclose(logits[:, :rows].T, expected, rtol=1e-5, atol=2e-5)

    loss = np.empty(rows, np.float32)
    losses(logits.copy(), y, loss, rows, False)
    np.testing.assert_allclose(loss, numpy_losses(network, block, x, y, present), rtol=1e-5, atol=2e-5)

    loss_again = np.empty(rows, np.float32)
    losses(logits, y, loss_again, rows, True)
    np.testing.assert_allclose(loss_again, loss, rtol=1e-5, atol=2e-6)
    softmax = np.exp(expected - np.logaddexp.reduce(expected, axis=1, keepdims=True))
    np.testing.assert_allclose(logits[:, :rows].T, softmax, rtol=5e-5, atol=1e-7)


def test_the_distribution_sums_to_one():
    """exp(-loss) over all levels of the variable is a distribution, for any parents."""
    rng = np.random.default_rng(0)
    network = Network.random(11, rng, scale=2.0)
    x, _ = random_rows(20, 11, rng)
    present = rng.integers(2, size=x.shape).astype(np.uint8)
    total = np.zeros(20)
    for level in range(11):
        _, _, logits = forward(network, x, present, 20)
        loss = np.empty(20, np.float32)
        losses(logits, np.full(20, level, np.uint16), loss, 20, False)
        total += np.exp(-loss.astype(np.float64))
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


@pytest.mark.parametrize("keep_exp", [False, True])
def test_huge_logits_give_finite_losses(keep_exp):
    logits = np.array([[1e6, -1e6, 80.0], [-1e6, -1e6, 0.0], [0.0, -1e6, -80.0]], np.float32)
    loss = np.empty(3, np.float32)
    losses(logits, np.array([1, 0, 2], np.uint16), loss, 3, keep_exp)
    # Clamped to the range of the exponential: 60 - (-60), three equal logits, 60 - (-60).
    np.testing.assert_allclose(loss, [120.0, np.log(3.0), 120.0], rtol=1e-6)
    if keep_exp:
        np.testing.assert_allclose(logits.sum(axis=0), 1.0, rtol=1e-6)


# Gradient


@pytest.mark.parametrize("n_out", OUTPUTS)
@pytest.mark.parametrize("rows", [1, 5, 16])
def test_gradient_is_that_of_numpy_and_of_finite_differences(n_out, rows):
    rng = np.random.default_rng([n_out, rows, 1])
    network = Network.random(n_out, rng)
    x, y = random_rows(rows, n_out, rng)
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
    np.testing.assert_allclose(expected, differences, atol=1e-8)

    gradient = kernel_gradient(network, x, y, present)
    np.testing.assert_allclose(gradient, expected, rtol=2e-4, atol=2e-6)


def kernel_gradient(network, x, y, present, into=None):
    rows = len(y)
    h, a, logits = forward(network, x, present, rows)
    losses(logits, y, np.empty(rows, np.float32), rows, True)
    gradient = np.zeros_like(network.block) if into is None else into
    bias_gradient = gradient[(network.out_row + network.n_out) * HIDDEN :]
    backward(
        network.table_row, x, y, present, h, a, network.out_w, logits, gradient.reshape(-1, HIDDEN), network.out_row,
        bias_gradient, rows,
    )  # fmt: skip
    return gradient


def test_gradient_adds_to_what_is_there():
    rng = np.random.default_rng(2)
    network = Network.random(4, rng)
    x, y = random_rows(9, 4, rng)
    present = np.ones(x.shape, np.uint8)
    once = kernel_gradient(network, x, y, present)
    start = rng.normal(size=len(once)).astype(np.float32)
    np.testing.assert_allclose(kernel_gradient(network, x, y, present, into=start.copy()), start + once, atol=1e-6)


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


def test_the_only_level_of_a_constant_variable_costs_nothing():
    rng = np.random.default_rng(4)
    network = Network.random(1, rng)
    x, y = random_rows(9, 1, rng)
    present = np.ones(x.shape, np.uint8)
    assert np.abs(kernel_gradient(network, x, y, present)).max() < 1e-6
    mean_loss = np.empty(1, np.float32)
    graph_losses(*network.arguments, x, y, np.ones((1, len(PARENTS)), np.uint8), mean_loss)
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


@pytest.mark.parametrize(("n_out", "rows"), [(2, 1), (3, 31), (5, 32), (10, 33), (11, 77)])
def test_graph_losses(n_out, rows):
    rng = np.random.default_rng([n_out, rows, 2])
    network = Network.random(n_out, rng)
    x, y = random_rows(rows, n_out, rng)
    graphs = rng.integers(2, size=(6, len(PARENTS))).astype(np.uint8)
    graphs[0], graphs[1] = 0, 1
    mean_loss = np.empty(6, np.float32)
    graph_losses(*network.arguments, x, y, graphs, mean_loss)
    block = network.block.astype(np.float64)
    expected = [numpy_losses(network, block, x, y, np.tile(graph, (rows, 1))).mean() for graph in graphs]
    np.testing.assert_allclose(mean_loss, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("n_out", "rows"), [(2, 1), (3, 31), (5, 32), (10, 33), (11, 77)])
def test_paired_effects(n_out, rows):
    rng = np.random.default_rng([n_out, rows, 3])
    network = Network.random(n_out, rng)
    x, y = random_rows(rows, n_out, rng)
    limit = thresholds([0.5, 0.0, 1.0, 0.9, 0.05])
    stream = np.array([rows], np.uint64)
    copy = stream.copy()
    effect = np.full(len(PARENTS), np.nan)
    base = paired_effects(
        *network.arguments, x, y, limit, stream, np.ones(len(PARENTS), np.uint8), effect
    )  # fmt: skip

    present = np.empty(x.shape, np.uint8)
    sample_present(copy, limit, present, rows)
    assert stream[0] == copy[0]
    block = network.block.astype(np.float64)
    assert base == pytest.approx(numpy_losses(network, block, x, y, present).mean(), rel=1e-5)
    for c in range(len(PARENTS)):
        with_edge, without = present.copy(), present.copy()
        with_edge[:, c], without[:, c] = 1, 0
        difference = numpy_losses(network, block, x, y, with_edge) - numpy_losses(network, block, x, y, without)
        assert effect[c] == pytest.approx(difference.mean(), rel=1e-4, abs=1e-5)


def test_effects_not_wanted_keep_their_value():
    rng = np.random.default_rng(6)
    network = Network.random(4, rng)
    x, y = random_rows(40, 4, rng)
    limit = thresholds(np.full(len(PARENTS), 0.5))
    everything, some = np.full(len(PARENTS), 7.0), np.full(len(PARENTS), 7.0)
    paired_effects(
        *network.arguments, x, y, limit, np.array([1], np.uint64), np.ones(len(PARENTS), np.uint8), everything
    )
    wanted = np.array([1, 0, 0, 1, 0], np.uint8)
    paired_effects(*network.arguments, x, y, limit, np.array([1], np.uint64), wanted, some)
    assert some.tolist() == np.where(wanted, everything, 7.0).tolist()


def test_gather_picks_rows_and_columns():
    codes = np.arange(24, dtype=np.uint8).reshape(6, 4)
    codes.flags.writeable = False  # as the rows of a regime are
    rows, columns = np.array([5, 0, 0]), np.array([3, 1])
    out = np.zeros((3, 2), np.uint16)
    gather(codes, rows, columns, out)
    assert out.tolist() == codes[np.ix_(rows, columns)].tolist()


# Training


def test_block_loss_draws_one_graph_per_row():
    rng = np.random.default_rng(8)
    network = Network.random(5, rng)
    rows = 300  # more than two blocks
    x, y = random_rows(rows, 5, rng)
    probability = [0.5, 0.2, 1.0, 0.7, 0.0]
    found = block_loss(*network.arguments, x, y, thresholds(probability), np.array([3], np.uint64))
    _, present = numpy_present(3, probability, rows)
    expected = numpy_losses(network, network.block.astype(np.float64), x, y, present).mean()
    assert found == pytest.approx(expected, rel=1e-5)


def train(network, x, y, x_held, y_held, probability, state, **options):
    """Run the training kernel on copies; returns (block, stream, counter, held-out loss, steps)."""
    options = {"steps": 4, "batch": 16, "rate": 5e-3, "decay": 1e-2, "check_every": 2, "patience": 4, **options}
    block = network.block.copy()
    moments = np.zeros_like(block), np.zeros_like(block)
    stream, counter = np.array([state], np.uint64), np.zeros(1, np.int64)
    held, taken = fit_variable(
        block, *moments, np.empty_like(block), np.zeros_like(block), HIDDEN, network.out_row, network.n_out,
        network.table_row, x, y, x_held, y_held, thresholds(probability), stream, counter, options["steps"],
        options["batch"], options["rate"], options["decay"], options["check_every"], options["patience"],
    )  # fmt: skip
    return block, int(stream[0]), int(counter[0]), held, taken


@pytest.mark.parametrize("batch", [16, 5, 1])
def test_training_is_adam_on_sampled_rows_and_graphs(batch):
    rng = np.random.default_rng(9)
    network = Network.random(3, rng)
    x, y = random_rows(41, 3, rng)
    x_held, y_held = random_rows(20, 3, rng)
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
    block, _, counter, held, taken = train(network, x, y, x, y + np.uint16(1), [1.0] * 5, 1, steps=100, patience=3)
    assert taken == counter == 6  # three looks, one every two steps
    assert block.tobytes() == network.block.tobytes()
    everything = np.ones(x.shape)
    expected = numpy_losses(network, network.block.astype(np.float64), x, y + np.uint16(1), everything).mean()
    assert held == pytest.approx(expected, rel=1e-5)


def test_centring_moves_means_into_the_bias():
    """With every parent always present nothing changes."""
    rng = np.random.default_rng(0)
    levels, hidden, rows = [2, 3, 4], 8, 50
    table_row = 1 + np.cumsum([0, *levels[:-1]]).astype(np.int64)
    out_row = 1 + sum(levels)
    weights = rng.normal(size=(out_row, hidden)).astype(np.float32)
    x = np.column_stack([rng.integers(0, n, rows) for n in levels]).astype(np.uint16)
    present = np.ones((rows, 3), np.uint8)
    before, after = (np.empty((rows, hidden), np.float32) for _ in range(2))
    sample_hidden(weights, table_row, x, present, before, rows)
    center_tables(weights, out_row, table_row, x, np.full(3, 2**32, np.uint64))
    sample_hidden(weights, table_row, x, present, after, rows)
    np.testing.assert_allclose(after, before, atol=1e-5)
    for c in range(3):
        np.testing.assert_allclose(weights[table_row[c] + x[:, c]].mean(axis=0), 0.0, atol=1e-6)
