"""Continuous columns as they come: constant, copied, rarely varying, in any unit, with outliers and heavy tails.

The model behind every table is A -> B -> C with D on its own, in the column order D, C, A, B, with an intervention on
each variable. The edges are clear; what is done to the columns must not hide them.
"""

import numpy as np
import pandas as pd
import pytest

from enco import ENCO, simulate
from enco.data import InterventionalData
from enco.errors import DataError
from enco.graphs import is_acyclic

NAMES = ["D", "C", "A", "B"]
TARGETS = [None, "A", "B", "C", "D"]
CHAIN = {"A -> B", "B -> C"}
QUICK = {"max_epochs": 8, "refine_steps": 500}


def normal(rng, size):
    return rng.normal(size=size)


def make_blocks(seed=0, *, rows=400, interventional_rows=150, noise=normal):
    """One block of rows per entry of `TARGETS`."""
    rng = np.random.default_rng(seed)
    blocks = []
    for target in TARGETS:
        size = interventional_rows if target else rows
        a = normal(rng, size) if target == "A" else noise(rng, size)
        b = normal(rng, size) if target == "B" else 1.5 * a + 0.5 * noise(rng, size)
        c = normal(rng, size) if target == "C" else 1.5 * np.tanh(b) + 0.3 * noise(rng, size)
        blocks.append(np.column_stack([normal(rng, size), c, a, b]))
    return blocks


def fit(blocks, **options):
    data = InterventionalData.from_environments(blocks, TARGETS, names=NAMES, **options)
    # A and D are set to what they are anyway, which a test of the labels would take for nothing.
    return ENCO(settings=QUICK, interventions="perfect", random_state=0, n_jobs=1).fit(data)


def edges(fitted):
    assert is_acyclic(fitted.adjacency_matrix_)
    assert np.isfinite(fitted.edge_probabilities_).all()
    assert np.isfinite(fitted.history_["held_out_loss"]).all()
    names = fitted.feature_names_in_
    return {f"{names[cause]} -> {names[effect]}" for cause, effect in np.argwhere(fitted.adjacency_matrix_)}


def test_the_chain_is_found():
    assert edges(fit(make_blocks())) == CHAIN


# Columns with little in them


def test_a_constant_column_has_no_edges():
    blocks = make_blocks()
    for block in blocks:
        block[:, 0] = 0.1
    assert edges(fit(blocks)) == CHAIN


def test_a_column_that_is_constant_unless_intervened_on_has_no_edges():
    blocks = make_blocks()
    for block, target in zip(blocks, TARGETS, strict=True):
        if target != "D":
            block[:, 0] = 0.1
    assert edges(fit(blocks)) == CHAIN


def test_a_copy_is_a_child():
    """D repeats A unless it is set: then A shows who copies whom."""
    blocks = make_blocks()
    for block, target in zip(blocks, TARGETS, strict=True):
        if target != "D":
            block[:, 0] = block[:, 2]
    found = edges(fit(blocks))
    assert found >= {*CHAIN, "A -> D"}
    assert not any(edge.startswith("D") for edge in found)


def test_two_identical_columns():
    """Nothing tells A from D, not even interventions; but they belong together, and one of them is the cause of B."""
    blocks = make_blocks()
    for block in blocks:
        block[:, 0] = block[:, 2]
    found = edges(fit(blocks))
    assert "B -> C" in found
    assert len(found & {"A -> D", "D -> A"}) == 1
    assert found & {"A -> B", "D -> B"}
    assert not found & {"B -> A", "B -> D", "C -> A", "C -> D", "A -> C", "D -> C"}


@pytest.mark.parametrize("share", [0.99, 0.999])
def test_a_column_of_nearly_one_value_has_no_edges(share):
    rng = np.random.default_rng(1)
    blocks = make_blocks()
    for block in blocks:
        block[rng.random(len(block)) < share, 0] = 0.0
    assert edges(fit(blocks)) == CHAIN


# Units


@pytest.mark.parametrize("factor", [1e-12, 1e12, -1.0])
def test_the_unit_does_not_matter(factor):
    assert edges(fit([factor * block for block in make_blocks()])) == CHAIN


def test_each_column_in_its_own_unit():
    assert edges(fit([block * [1e-12, 1e12, -1e5, 1e-7] + [0.0, 1e13, 7e5, 3e-6] for block in make_blocks()])) == CHAIN


@pytest.mark.parametrize("shift", [-10.0, 1e5])
def test_the_origin_does_not_matter(shift):
    assert edges(fit([block + shift for block in make_blocks()])) == CHAIN


def test_powers_of_two_change_no_bit():
    blocks = [block.astype(np.float32) for block in make_blocks()]
    one, other = (fit([block * np.float32(factor) for block in blocks]) for factor in (1.0, 2.0**70))
    assert one.gamma_.tobytes() == other.gamma_.tobytes()
    assert one.theta_.tobytes() == other.theta_.tobytes()
    assert one.adjacency_matrix_.tobytes() == other.adjacency_matrix_.tobytes()
    added = other.history_["held_out_loss"] - one.history_["held_out_loss"]
    np.testing.assert_allclose(added, 70 * np.log(2.0), rtol=1e-9)


def test_an_origin_too_far_away_is_named():
    """Seconds since 1970, say: single precision would make the column a constant."""
    with pytest.raises(DataError, match=r"variable 'D' varies so little around 1.7e\+09 .* subtract a constant"):
        fit([block + 1.7e9 for block in make_blocks()])


def test_the_order_of_the_columns_does_not_matter():
    blocks = make_blocks()
    data = InterventionalData.from_environments(blocks, TARGETS, names=NAMES)
    moved = data.select(["A", "B", "C", "D"])
    one, other = (ENCO(settings=QUICK, random_state=0, n_jobs=1).fit(table) for table in (data, moved))
    assert edges(one) == edges(other)
    back = [moved.names.index(name) for name in NAMES]
    assert one.gamma_.tolist() == other.gamma_[np.ix_(back, back)].tolist()


# Outliers and heavy tails


def with_outliers(blocks, share, value=1e6):
    """Every column of every block gets some wild values, at least one."""
    rng = np.random.default_rng(3)
    for block in blocks:
        for column in range(block.shape[1]):
            block[rng.choice(len(block), max(1, round(share * len(block))), replace=False), column] = value
    return blocks


@pytest.mark.parametrize("value", [-1e6, 1e30])
def test_a_few_outliers_do_not_matter(value):
    """Three in a thousand rows, in every column."""
    assert edges(fit(with_outliers(make_blocks(rows=1000, interventional_rows=300), 0.003, value))) == CHAIN


def test_one_outlier_among_a_hundred_rows_does_not_matter():
    assert edges(fit(with_outliers(make_blocks(rows=100, interventional_rows=100), 0.0))) == CHAIN


def test_one_outlier_in_a_hundred_rows_does_not_matter():
    assert edges(fit(with_outliers(make_blocks(), 0.01))) == CHAIN


@pytest.mark.parametrize("seed", [0, 1])
def test_heavy_tails(seed):
    """Student's t with two degrees of freedom has no variance."""
    assert edges(fit(make_blocks(seed, noise=lambda rng, size: rng.standard_t(2, size=size)))) == CHAIN


# What is no number, and what is one


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinities_are_refused_by_name(value):
    blocks = make_blocks()
    blocks[2][7, 3] = value
    with pytest.raises(DataError, match=r"'B'.*row 7 of environment 2"):
        fit(blocks)
    table = pd.DataFrame(np.concatenate(blocks), columns=NAMES)
    targets = np.repeat(["", "A", "B", "C", "D"], [len(block) for block in blocks])
    with pytest.raises(DataError, match="'B'"):
        ENCO(n_jobs=1).fit(table, targets=targets)


def test_integers_meant_as_continuous():
    """Counts in hundreds: declared continuous, or handed in as floats, they give the same fit; the chain is found."""
    blocks = [np.rint(100 * block).astype(int) for block in make_blocks()]
    declared = fit(blocks, kinds=dict.fromkeys(NAMES, "continuous"))
    floats = fit([block.astype(float) for block in blocks])
    assert edges(declared) == CHAIN
    assert declared.gamma_.tobytes() == floats.gamma_.tobytes()
    assert declared.result_.adjacency.tolist() == floats.result_.adjacency.tolist()


def test_a_data_frame_of_floats_and_text():
    """Kinds follow from the columns: text is categorical, floats are continuous."""
    blocks = make_blocks(rows=800, interventional_rows=300)
    table = pd.DataFrame(np.concatenate(blocks), columns=NAMES)
    table["C"] = np.where(table["C"] > 0, "high", "low")
    targets = np.repeat(["", "A", "B", "C", "D"], [len(block) for block in blocks])
    fitted = ENCO(settings=QUICK, random_state=0, n_jobs=1).fit(table, targets=targets)
    assert edges(fitted) == CHAIN


def test_simulated_models_are_recovered():
    """All parents and effects are continuous; `search/test_behaviours_open.py` has the mixed ones."""
    rng = np.random.default_rng(11)
    scm = simulate.mixed("random", 6, rng, categories=4, categorical_share=0.0, edge_probability=0.35)
    data = scm.dataset(3000, 300, rng=rng)
    fitted = ENCO(random_state=0, n_jobs=1).fit(data)
    assert (fitted.adjacency_matrix_ == scm.observed_adjacency).all()
