"""What interventions do in simulated experiments, and that what was drawn before is drawn again."""

import hashlib

import numpy as np
import pytest

from enco import simulate
from enco.data import Variable
from enco.errors import GraphError, SettingsError
from enco.simulate import SCM, ContinuousMechanism, Shifted, TableCategorical, Tilted
from enco.simulate.batches import Batch, batch_column, marginal_sds
from enco.simulate.experiments import experiment

MODELS = {
    "categorical": lambda: simulate.categorical(
        "random", 6, np.random.default_rng(1), categories=4, edge_probability=0.5
    ),
    "continuous": lambda: simulate.continuous(
        "random", 6, np.random.default_rng(2), mechanism="additive", edge_probability=0.5
    ),
    "bif": lambda: simulate.from_bif("asia"),
}


def digest(drawn):
    """Return a digest of the rows, the targets and what was done."""
    total = hashlib.sha256()
    for regime in drawn.data.regimes:
        for part in (repr(regime.targets).encode(), regime.codes.tobytes(), regime.reals.tobytes()):
            total.update(part)
    total.update(repr([(done.target, done.hold, done.also) for done in drawn.done]).encode())
    return total.hexdigest()[:16]


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("categorical", {}, "1a8e7c28b38d7085"),
        ("categorical", {"hold": 0.5}, "fcc569e31e57bcdf"),
        ("categorical", {"hold": 0.4, "failed": 0.3, "off_target": 0.7}, "e3097185c3079239"),
        ("continuous", {}, "a12bdbaafa105f53"),
        ("continuous", {"failed": 0.5, "off_target": 0.5}, "ad003655a85e9f18"),
        ("continuous", {"hold": 0.4, "failed": 0.3, "off_target": 0.7}, "5edbaacce355521f"),
        ("bif", {"hold": 0.5}, "5fddb373c8db471f"),
        ("bif", {"hold": 0.4, "failed": 0.3, "off_target": 0.7}, "d48ccf8393c85825"),
    ],
)
def test_rows_are_those_that_were_drawn_before_there_were_options(model, options, expected):
    assert digest(experiment(MODELS[model](), 200, 30, np.random.default_rng(7), **options)) == expected


def chain(mechanism="linear", n=3):
    """Return X1 -> X2 -> ..., in that order."""
    return simulate.continuous("chain", n, np.random.default_rng(5), mechanism=mechanism, shuffle=False)


def regime_of(drawn, name):
    """Return the values of the regime of that name, and the observational ones."""
    regime = next(it for it in drawn.data.interventional if drawn.data.regime_name(it) == name)
    return regime.reals.astype(float), drawn.data.observational.reals.astype(float)


def slope(values, cause, effect):
    return np.polyfit(values[:, cause], values[:, effect], 1)[0]


def test_a_perfect_intervention_cuts_its_target_from_its_causes():
    there, _ = regime_of(experiment(chain(), 500, 20_000, np.random.default_rng(0)), "X2")
    assert abs(np.corrcoef(there[:, 0], there[:, 1])[0, 1]) < 0.03
    assert there[:, 1].mean() == pytest.approx(2.0, abs=0.05)


def test_a_soft_intervention_keeps_the_parents_and_the_noise_but_not_the_function():
    drawn = experiment(chain(), 20_000, 20_000, np.random.default_rng(0), effect="soft")
    there, usual = regime_of(drawn, "X2")
    assert abs(slope(there, 0, 1) - slope(usual, 0, 1)) > 0.1
    assert abs(np.corrcoef(there[:, 0], there[:, 1])[0, 1]) > 0.3
    noise = [np.std(values[:, 1] - slope(values, 0, 1) * values[:, 0]) for values in (there, usual)]
    assert noise[0] == pytest.approx(noise[1], rel=0.05)
    assert slope(there, 1, 2) == pytest.approx(slope(usual, 1, 2), abs=0.03)


def test_a_soft_intervention_on_a_root_shifts_it():
    drawn = experiment(chain(), 20_000, 20_000, np.random.default_rng(0), effect="soft")
    there, usual = regime_of(drawn, "X1")
    assert abs(there[:, 0].mean() - usual[:, 0].mean()) == pytest.approx(2 * usual[:, 0].std(), rel=0.05)


@pytest.mark.parametrize("mechanism", ["linear", "additive", "nonadditive"])
def test_a_shift_moves_the_mean_and_nothing_else_of_the_mechanism(mechanism):
    drawn = experiment(chain(mechanism), 20_000, 20_000, np.random.default_rng(1), effect="shift")
    there, usual = regime_of(drawn, "X2")
    assert abs(there[:, 1].mean() - usual[:, 1].mean()) == pytest.approx(2 * usual[:, 1].std(), rel=0.05)
    assert there[:, 1].std() == pytest.approx(usual[:, 1].std(), rel=0.05)
    assert slope(there, 0, 1) == pytest.approx(slope(usual, 0, 1), abs=0.05)


def dependence(codes, cause, effect, levels=4):
    """Return the largest difference between the distributions of the effect, given two levels of the cause."""
    rows = [codes[codes[:, cause] == level, effect] for level in range(levels)]
    tables = [np.bincount(part, minlength=levels) / len(part) for part in rows if len(part) > 500]
    return max(0.5 * np.abs(one - other).sum() for one in tables for other in tables)


@pytest.mark.parametrize("mechanism", ["neural", "product", "deterministic"])
def test_categorical_targets_depend_on_their_parents_unless_the_intervention_is_perfect(mechanism):
    model = simulate.categorical(
        "chain", 3, np.random.default_rng(3), categories=4, mechanism=mechanism, deterministic="all", shuffle=False
    )
    found = {}
    for effect in ("perfect", "soft", "shift"):
        drawn = experiment(model, 20_000, 20_000, np.random.default_rng(2), effect=effect)
        there, usual = drawn.data.interventional[1].codes, drawn.data.observational.codes
        moved = np.abs(np.bincount(there[:, 1], minlength=4) - np.bincount(usual[:, 1], minlength=4)).sum() / 40_000
        found[effect] = (moved, dependence(there, 0, 1))
    assert found["perfect"][1] < 0.06
    assert found["soft"][1] > 0.1
    assert found["shift"][1] > 0.1
    assert found["soft"][0] > 0.05
    assert mechanism == "deterministic" or found["shift"][0] > 0.05


def test_a_network_of_tables_takes_every_effect():
    for effect in ("soft", "shift"):
        drawn = experiment(
            simulate.from_bif("asia"), 500, 200, np.random.default_rng(0), effect=effect, batch_offset=0.3
        )
        assert [done.target for done in drawn.done] == list(drawn.data.names)


def test_a_failed_intervention_does_nothing():
    drawn = experiment(chain(), 20_000, 20_000, np.random.default_rng(0), effect="shift", failed=1.0)
    for done in drawn.done:
        there, usual = regime_of(drawn, done.target)
        assert (done.hold, done.targets, done.intended) == (0.0, (), (done.target,))
        assert np.abs(there.mean(axis=0) - usual.mean(axis=0)).max() < 0.06


def test_an_intervention_takes_hold_in_a_share_of_the_rows():
    drawn = experiment(chain(), 20_000, 20_000, np.random.default_rng(0), effect="shift", hold=0.25)
    there, usual = regime_of(drawn, "X3")
    assert abs(there[:, 2].mean() - usual[:, 2].mean()) == pytest.approx(0.25 * 2 * usual[:, 2].std(), rel=0.1)
    assert drawn.done[2].targets == ("X3",)


def test_where_no_row_is_reached_nothing_is_hit():
    assert experiment(chain(), 10, 3, np.random.default_rng(0), hold=0.1).done[0].targets == ()


def test_off_target_hits_are_what_was_done():
    drawn = experiment(chain(), 5000, 5000, np.random.default_rng(0), effect="shift", off_target=1.0)
    for done in drawn.done:
        there, usual = regime_of(drawn, done.target)
        assert set(done.targets) == {done.target, done.also}
        also = drawn.data.position(done.also)
        assert abs(there[:, also].mean() - usual[:, also].mean()) > usual[:, also].std()


def test_unknown_regimes_have_no_targets_but_the_truth_does():
    drawn = experiment(
        chain(n=5), 100, 20, np.random.default_rng(0), regimes=7, targets_per_regime=2, unknown=True, failed=0.3
    )
    assert [it.label for it in drawn.data.interventional] == [f"condition {k}" for k in range(1, 8)]
    assert all(it.unknown and it.targets == () for it in drawn.data.interventional)
    assert len({done.intended for done in drawn.done}) == 7
    assert [len(done.targets) for done in drawn.done].count(0) == 2
    assert all(len(done.intended) == 2 for done in drawn.done)


def test_the_number_of_a_condition_does_not_tell_what_it_hits():
    done = experiment(chain(n=20), 20, 5, np.random.default_rng(0), unknown=True).done
    hit = [name for regime in done for name in regime.targets]
    assert sorted(hit) == sorted(chain(n=20).observed_names)
    assert hit != list(chain(n=20).observed_names)


def test_sets_of_targets_come_twice_only_if_there_are_no_others():
    drawn = experiment(chain(), 100, 20, np.random.default_rng(0), regimes=7)
    targets = [regime.targets for regime in drawn.data.interventional]
    assert [len(set(part)) for part in (targets[:3], targets[3:6])] == [3, 3]
    assert [drawn.data.regime_name(it) for it in drawn.data.interventional] == [done.target for done in drawn.done]
    assert sum(done.target.endswith("(2)") for done in drawn.done) == 3
    many = experiment(chain(n=60), 50, 5, np.random.default_rng(0), regimes=30, targets_per_regime=4)
    assert len({regime.targets for regime in many.data.interventional}) == 30


def test_every_regime_is_a_batch_whose_offsets_propagate():
    """In a long chain with large weights, offsets of causes reach the last variable."""
    base = chain()
    model = base.with_mechanisms(
        {k: simulate.LinearGaussian([0], real_weights=[3.0], tables=[], sd=0.5) for k in (1, 2)}
    )
    drawn = experiment(model, 20_000, 20_000, np.random.default_rng(4), failed=1.0, batch_offset=0.5)
    usual = drawn.data.observational.reals.astype(float)
    assert np.abs(usual.mean(axis=0)).max() < 0.05 * usual.std(axis=0).max()
    for regime in drawn.data.interventional:
        there = regime.reals.astype(float)
        own = (there[:, 2] - 3.0 * there[:, 1]).mean()
        moved = there.mean(axis=0)
        assert moved[2] == pytest.approx(3.0 * moved[1] + own, abs=0.01)
        assert np.abs(moved).max() > 0.1


def test_the_context_column_explains_the_offsets():
    """Within a batch, the regimes of failed interventions are alike; between batches, they differ."""
    drawn = experiment(
        chain(), 30_000, 30_000, np.random.default_rng(4), failed=1.0, batches=3, batch_offset=1.0, context=True
    )
    data = drawn.data
    assert data.names == ("X1", "X2", "X3", "batch")
    assert data.is_context.tolist() == [False, False, False, True]
    assert data.variables[3].levels == ("1", "2", "3")
    means = np.array(
        [[regime.reals[regime.codes[:, 0] == level].mean(axis=0) for level in range(3)] for regime in data.regimes]
    )
    assert means.std(axis=0).max() < 0.03  # over regimes
    assert means[0].std(axis=0).max() > 0.3  # over batches
    shares = [np.bincount(regime.codes[:, 0]) / regime.n_rows for regime in data.regimes]
    assert np.allclose(shares, 1 / 3, atol=0.02)
    first = data.observational.codes[:, 0]
    assert (first[1:] != first[:-1]).mean() > 0.5  # rows of batches are mixed


def test_without_batches_the_context_column_names_the_regime():
    model = simulate.mixed("chain", 4, np.random.default_rng(0), categories=3)
    data = experiment(model, 50, 10, np.random.default_rng(1), batch_offset=0.5, context=True).data
    assert data.variables[-1].levels == ("0", "1", "2", "3", "4")
    for number, regime in enumerate(data.regimes):
        assert regime.codes.shape[1] == 3
        assert set(regime.codes[:, -1]) == {number}


def test_offsets_of_categorical_batches_move_the_tables():
    model = simulate.categorical("chain", 3, np.random.default_rng(0), categories=4, shuffle=False)
    drawn = experiment(model, 20_000, 20_000, np.random.default_rng(1), failed=1.0, batch_offset=1.0)
    usual = drawn.data.observational.codes
    for regime in drawn.data.interventional:
        assert np.abs(np.bincount(regime.codes[:, 0]) - np.bincount(usual[:, 0])).sum() / 40_000 > 0.05


@pytest.mark.parametrize("mechanism", ["linear", "nonadditive"])
def test_batches_multiply_the_noise(mechanism):
    drawn = experiment(chain(mechanism), 20_000, 20_000, np.random.default_rng(4), failed=1.0, batch_scale=2.0)
    usual = drawn.data.observational.reals.std(axis=0)
    ratios = [regime.reals.std(axis=0)[0] / usual[0] for regime in drawn.data.interventional]
    assert max(abs(np.log(ratios))) > 0.2
    assert np.abs([regime.reals.mean(axis=0)[0] for regime in drawn.data.interventional]).max() < 0.1


def test_latent_variables_are_never_targets_and_move_with_batches():
    model = simulate.continuous("random", 5, np.random.default_rng(0), latents=2)
    drawn = experiment(model, 50, 10, np.random.default_rng(0), regimes=9, targets_per_regime=2, batch_offset=0.5)
    assert {name for done in drawn.done for name in done.intended} <= set(model.observed_names)
    assert drawn.data.names == model.observed_names


def test_the_same_seed_draws_the_same_experiment():
    options = {"effect": "soft", "hold": 0.5, "off_target": 0.5, "batches": 2, "batch_offset": 0.2, "context": True}
    one, other = (experiment(chain(), 50, 20, np.random.default_rng(3), **options) for _ in range(2))
    assert one.data == other.data
    assert one.done == other.done


def test_there_need_be_no_interventions():
    drawn = experiment(chain(), 50, 0, np.random.default_rng(0), batches=2, context=True)
    assert drawn.done == ()
    assert drawn.data.interventional == ()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"hold": 1.5}, "hold must be between 0 and 1"),
        ({"failed": -1}, "failed must be between 0 and 1"),
        ({"off_target": float("nan")}, "off_target must be between 0 and 1"),
        ({"effect": "hard"}, "unknown effect 'hard'; choose from perfect, soft, shift"),
        ({"targets_per_regime": 0}, "targets_per_regime must be at least 1, got 0"),
        ({"targets_per_regime": 3}, "targets_per_regime must be below the number of variables, 3, got 3"),
        ({"regimes": 0}, "regimes must be at least 1, got 0"),
        ({"batches": -1}, "batches must be at least 0, got -1"),
        ({"batch_offset": -0.1}, "batch_offset must be a finite number from 0 on"),
        ({"batch_offset": float("inf")}, "batch_offset must be a finite number from 0 on"),
        ({"batch_scale": 0.5}, "batch_scale must be a finite number from 1 on"),
    ],
)
def test_bad_options(options, complaint):
    with pytest.raises(SettingsError, match=complaint):
        experiment(chain(), 50, 20, np.random.default_rng(0), **options)


class Own(ContinuousMechanism):
    """A mechanism of somebody's own, which cannot be drawn anew."""

    def sample(self, codes, reals, rng):
        return rng.normal(size=len(codes)) + reals.sum(axis=1)


def test_a_mechanism_of_ones_own_needs_a_method_for_soft_interventions():
    variables = [Variable("A", "continuous"), Variable("B", "continuous")]
    model = SCM(variables, [[0, 1], [0, 0]], [simulate.LinearGaussian.random([], np.random.default_rng(0)), Own([0])])
    with pytest.raises(SettingsError, match="a Own cannot be drawn anew"):
        experiment(model, 50, 20, np.random.default_rng(0), effect="soft")


def test_other_mechanisms_must_have_the_same_parents():
    model = chain()
    with pytest.raises(GraphError, match="the parents of 'X1' have"):
        model.with_mechanisms({0: model.mechanisms[1]})
    assert model.with_mechanisms({}).mechanisms == model.mechanisms


def test_the_batch_column_takes_a_free_name():
    variables = [Variable("batch", "continuous"), Variable("batch2", "continuous")]
    roots = [simulate.LinearGaussian.random([], np.random.default_rng(0)) for _ in variables]
    assert batch_column(SCM(variables, np.zeros((2, 2)), roots), ["1"]).name == "batch3"


def test_tilted_probabilities_are_drawn():
    tilted = Tilted(TableCategorical([[0.2, 0.8, 0.0], [1.0, 0.0, 0.0]], [2]), [2.0, 1.0, 5.0])
    codes = np.repeat(np.array([[0], [1]], np.uint8), 50_000, axis=0)
    drawn = tilted.sample(codes, np.zeros((100_000, 0), np.float32), np.random.default_rng(0))
    assert np.bincount(drawn[:50_000], minlength=3) / 50_000 == pytest.approx([1 / 3, 2 / 3, 0], abs=0.01)
    assert (drawn[50_000:] == 0).all()
    with pytest.raises(SettingsError, match="the weights of 3 levels"):
        Tilted(tilted, [1.0, 0.0, 1.0])
    assert Tilted(tilted, [1.0, 1.0, 1.0]).redrawn(np.random.default_rng(0)).probabilities([[0]]).shape == (1, 3)


def test_modified_mechanisms_keep_what_they_are_made_of():
    usual = simulate.LinearGaussian([0], real_weights=[1.0], tables=[], sd=1.0)
    changed = Shifted(usual, 3.0).with_noise(2.0)
    assert (changed.offset, changed.mechanism.sd, usual.sd) == (3.0, 2.0, 1.0)
    assert Shifted(usual, 3.0).redrawn(np.random.default_rng(0)).offset == 3.0


def test_a_batch_of_nothing_changes_nothing():
    model = chain()
    assert Batch().changed(model) is model
    assert Batch().of(0, model.mechanisms[0]) is model.mechanisms[0]
    assert marginal_sds(model, np.random.default_rng(0)).shape == (3,)
