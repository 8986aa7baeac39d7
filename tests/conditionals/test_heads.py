"""What every registered head promises: a distribution, its gradient, the same in both engines. And how to add one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import poisson

import enco
from enco.conditionals.continuous import LARGEST_VALUE
from enco.conditionals.heads import HEADS, VariableHeads, losses
from enco.conditionals.heads.base import chained

# Every head with the numbers of levels that its variables may have.
CASES = [(head, count) for head in HEADS for count in ([0] if head.numeric else [1, 2, 5, 11])]
each_case = pytest.mark.parametrize(("head", "n_levels"), CASES, ids=lambda value: getattr(value, "name", value))


def random_case(head, n_levels, rows, scale, seed=0):
    """Outputs [K, R] and values [R] as they occur."""
    rng = np.random.default_rng([seed, n_levels])
    logits = (scale * rng.normal(size=(head.n_outputs(n_levels), rows))).astype(np.float32)
    y = rng.normal(size=rows) if head.numeric else rng.integers(n_levels, size=rows)
    return logits, y.astype(np.float32)


def fused_losses(head, logits, y, differentiate=False):
    """Losses [R] and, if asked for, their gradients [K, R], by the kernel of the head."""
    logits, loss = logits.copy(), np.empty(len(y), np.float32)
    head.losses(logits, y, loss, len(y), differentiate)
    return (loss, logits) if differentiate else loss


def torch_losses(head, logits, y, n_levels):
    """The same by PyTorch, in double precision."""
    values = torch.from_numpy(y).double() if head.numeric else torch.from_numpy(y).long()
    parameters = torch.from_numpy(logits).double().T
    return head.torch_loss(parameters[None], values[None], torch.tensor([n_levels]))[0].numpy()


def support(head, n_levels):
    """All values that matter, and the weight of each in a sum or an integral."""
    if not head.numeric:
        return np.arange(n_levels, dtype=np.float32), np.ones(n_levels)
    t = np.linspace(-9.0, 9.0, 40_001)
    return np.sinh(t).astype(np.float32), np.cosh(t) * (t[1] - t[0])


@each_case
def test_it_is_a_distribution_whose_scores_have_mean_zero(head, n_levels):
    y, weight = support(head, n_levels)
    logits, _ = random_case(head, n_levels, 8, scale=1.5)
    for outputs in logits.T:
        everywhere = np.repeat(outputs[:, None], len(y), axis=1)
        loss, gradient = fused_losses(head, everywhere, y, differentiate=True)
        probability = weight * np.exp(-loss.astype(np.float64))
        assert probability.sum() == pytest.approx(1.0, abs=2e-4)
        np.testing.assert_allclose(gradient.astype(np.float64) @ probability, 0.0, atol=1e-3)


@each_case
@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
def test_both_engines_have_the_same_loss(head, n_levels, scale):
    logits, y = random_case(head, n_levels, 500, scale, seed=1)
    expected = torch_losses(head, logits, y, n_levels)
    np.testing.assert_allclose(fused_losses(head, logits, y), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fused_losses(head, logits, y, differentiate=True)[0], expected, rtol=1e-4, atol=1e-5)


@each_case
def test_the_gradient_is_that_of_finite_differences(head, n_levels):
    logits, y = random_case(head, n_levels, 300, scale=1.0, seed=2)
    _, found = fused_losses(head, logits, y, differentiate=True)
    step = 1e-6
    for k in range(len(logits)):
        up, down = logits.astype(np.float64), logits.astype(np.float64)
        up[k] += step
        down[k] -= step
        slope = (torch_losses(head, up, y, n_levels) - torch_losses(head, down, y, n_levels)) / (2 * step)
        np.testing.assert_allclose(found[k], slope, rtol=1e-3, atol=2e-5)


@each_case
@pytest.mark.parametrize("scale", [30.0, 1e4])
def test_whatever_a_network_puts_out_is_finite(head, n_levels, scale):
    logits, y = random_case(head, n_levels, 200, scale, seed=3)
    if head.numeric:
        y = np.linspace(-LARGEST_VALUE, LARGEST_VALUE, 200, dtype=np.float32)
    loss, gradient = fused_losses(head, logits, y, differentiate=True)
    assert np.isfinite(loss).all()
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(loss, torch_losses(head, logits, y, n_levels), rtol=1e-3, atol=1e-3)


@each_case
def test_rows_beyond_those_asked_for_are_left_alone(head, n_levels):
    logits, y = random_case(head, n_levels, 7, scale=1.0)
    loss = np.full(7, 5.0, np.float32)
    head.losses(logits, y, loss, 4, True)
    assert (loss[4:] == 5.0).all()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_code_finds_its_head(count):
    """In a chain of one, of two, and of three heads."""
    heads = (*HEADS, *HEADS)[:count]
    kernel = chained(heads)
    for code, head in enumerate(heads):
        logits, y = random_case(head, 0 if head.numeric else 3, 20, scale=1.0)
        loss = np.empty(20, np.float32)
        kernel(code, logits.copy(), y, loss, 20, False)
        np.testing.assert_allclose(loss, fused_losses(head, logits, y), rtol=1e-5)


def test_the_registry():
    assert len({head.name for head in HEADS}) == len(HEADS)
    heads = VariableHeads.of(["continuous", "categorical", "continuous"], np.array([0, 4, 0]))
    assert [heads[j].name for j in range(3)] == ["gaussian", "categorical", "gaussian"]
    for j, count in enumerate([0, 4, 0]):
        assert 1 <= heads[j].n_residuals(count) <= heads[j].n_outputs(count)
        logits, y = random_case(heads[j], count, 20, scale=1.0)
        loss = np.empty(20, np.float32)
        losses(heads.code[j], logits.copy(), y, loss, 20, False)
        np.testing.assert_allclose(loss, fused_losses(heads[j], logits, y), rtol=1e-5)


# Heads that are new: a density of real numbers, and a distribution of counts, which read their values in another way

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
LAPLACE = PAGE.split("## A head")[1].split("```python\n")[1].split("```")[0]

POISSON = """
import math

import numpy as np

from enco.system.compilation import njit
from enco.conditionals.heads.base import Head
from enco.conditionals.vector_math import FAST, fast_exp

f32 = np.float32


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def poisson_losses(logits, y, loss, rows, differentiate):
    for r in range(rows):
        log_mean = min(max(logits[0, r], f32(-10.0)), f32(10.0))
        count, mean = np.rint(fast_exp(y[r]) - f32(1.0)), fast_exp(log_mean)
        loss[r] = mean - count * log_mean + math.lgamma(count + f32(1.0))
        if differentiate:
            logits[0, r] = (mean - count) * f32(log_mean == logits[0, r])


class PoissonHead(Head):
    name, kind, numeric, logarithmic, centred = "poisson", "continuous", True, True, False
    losses = staticmethod(poisson_losses)

    def n_outputs(self, n_levels):
        return 1

    def n_residuals(self, n_levels):
        return 1

    def torch_loss(self, parameters, y, n_levels):
        log_mean, count = parameters[..., 0].clamp(-10.0, 10.0), y.expm1().round()
        return log_mean.exp() - count * log_mean + (count + 1.0).lgamma()
"""

TRAIN = """
import numpy as np

import enco.conditionals.heads as heads
from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.conditionals.torch import TorchConditionals, TorchSettings
from enco.data import InterventionalData, Regime, Variable

assert heads.VariableHeads.of(["continuous"], np.zeros(1)).code == 3  # the last one counts
rng = np.random.default_rng(0)
cause = rng.integers(3, size=2000)
effects = {"laplace": 2.0 * cause + rng.laplace(size=2000), "poisson": rng.poisson(1.0 + 3.0 * cause)}
for code, (name, effect) in enumerate(effects.items(), start=2):
    heads._CODES["continuous"] = code
    codes, reals = cause[:, None].astype(np.uint8), np.column_stack([effect, effect]).astype(np.float32)
    variables = [Variable("cause", "categorical", (0, 1, 2)), *(Variable(name, "continuous") for name in "yz")]
    data = InterventionalData(variables, [Regime((), codes, reals)])
    pairs = Candidates.from_mask([[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    fused = FusedConditionals(data, pairs, settings=NetworkSettings(hidden=16), seed=0, n_jobs=1)
    assert fused.heads[1].name == name
    report = fused.fit(np.full(2, 0.5), 600)
    other = TorchConditionals(data, pairs, settings=TorchSettings(hidden=16), seed=0, n_jobs=1)
    other.load_fused(fused)
    rows, graphs = np.arange(2000), np.array([[True, True], [False, False]])
    losses = [model.graph_losses(data.observational, rows, graphs) for model in (fused, other)]
    np.testing.assert_allclose(losses[0], losses[1], atol=1e-5)
    given, alone = losses[0][:, 1]
    print(name, given, alone, losses[0][0, 0], losses[0][1, 0], effect.std())
"""


def test_a_new_head_is_one_file_and_its_registration(tmp_path):
    """In a copy of the package, with two more heads at the end of its registry."""
    package = tmp_path / "enco"
    shutil.copytree(Path(enco.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    folder = package / "conditionals" / "heads"
    registry = folder / "__init__.py"
    for name, text in (("laplace", LAPLACE), ("poisson", POISSON)):
        (folder / f"{name}.py").write_text(text)
        head = f"{name.capitalize()}Head"
        registered = registry.read_text().replace("\n)\n\nlosses", f"\n    {head}(),\n)\n\nlosses")
        imported = f"from enco.conditionals.heads.{name} import {head}"
        registry.write_text(registered.replace("\nHEADS", f"\n{imported}\n\nHEADS"))

    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", TRAIN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {words[0]: [float(word) for word in words[1:]] for words in map(str.split, done.stdout.splitlines())}

    given, alone, of_cause, of_cause_alone, unit = found["laplace"]
    # Noise of scale 1 and variance 2, in nats of the standardised variable.
    best, best_gaussian = 1.0 + np.log(2.0), 0.5 * np.log(2.0 * np.pi * np.e * 2.0)
    assert given + np.log(unit) == pytest.approx(best, abs=0.06)
    assert given + np.log(unit) < best_gaussian - 0.02
    assert alone > given + 0.3
    assert of_cause < of_cause_alone - 0.3

    given, alone, of_cause, of_cause_alone, _ = found["poisson"]
    best = np.mean([poisson(mean).entropy() for mean in (1.0, 4.0, 7.0)])
    assert given == pytest.approx(best, abs=0.06)
    assert alone > given + 0.3
    assert of_cause < of_cause_alone - 0.3
