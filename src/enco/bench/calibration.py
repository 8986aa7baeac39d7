"""How often probabilities of edges are right, and the curves that make them so (`enco.result.confidence`).

Fits of simulated data of many kinds, whose graphs are known: sizes, densities, kinds of variables, numbers of rows,
all or some targets, and interventions that work, fail, take hold in part of the rows, keep parents or hit more. Each
kind is a *setting*. Curves are fitted on some seeds, and judged on others.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score

from enco import simulate
from enco.bench.markup import markdown
from enco.data import InterventionalData
from enco.discover import discover
from enco.result import Result
from enco.result.confidence import (
    MOST_Z,
    SMALLEST,
    Curves,
    Triple,
    direction_features,
    direction_probability,
    joined_features,
    tempered,
    triple,
)
from enco.result.interventions import trust_in
from enco.settings import Settings
from enco.simulate.experiments import experiment

__all__ = [
    "SETTINGS",
    "Setting",
    "calibration_table",
    "curves_as_toml",
    "fit_curves",
    "observed_pairs",
    "pairs_of",
    "reliability",
]

Mask = NDArray[np.bool_]

LEAST = 0.05  # pairs with less do not count: they are many, and nearly all of them right
SURE = 0.9

MOST_AHEAD = float(tempered(np.array(np.log(1 / SMALLEST))))

Options = dict[str, Any]
Bounds = list[tuple[float | None, float | None]]


@dataclass(frozen=True)
class Setting:
    """A kind of data.

    Attributes
    ----------
    kind : str
        "categorical", "continuous", "mixed", or the name of a known network.
    variables : int
        About so many: between 0.8 and 1.25 times as many.
    density : float
        Edges for each variable.
    rows, interventional_rows : int
        Between 0.7 and 1.4 times as many, these of each regime.
    targets : float
        Number of variables that are intervened on, or a share of them.
    mechanism : str, optional
        Of continuous variables.
    experiment : dict
        Options of `enco.simulate.experiments.experiment`.
    """

    kind: str = "categorical"
    variables: int = 15
    density: float = 1.3
    rows: int = 3000
    interventional_rows: int = 200
    targets: float = 1.0
    mechanism: str | None = None
    experiment: Mapping[str, Any] = field(default_factory=dict)

    def draw(self, rng: np.random.Generator) -> tuple[InterventionalData, Mask]:
        """Draw data and the true graph."""
        if self.kind in ("categorical", "continuous", "mixed"):
            n = max(8, round(self.variables * rng.uniform(0.8, 1.25)))
            options: dict[str, Any] = {} if self.mechanism is None else {"mechanism": self.mechanism}
            make: Callable[..., simulate.SCM] = getattr(simulate, self.kind)
            model = make("random", n, rng, edge_probability=min(1.0, 2 * self.density / (n - 1)), **options)
        else:
            model = simulate.from_bif(self.kind, shuffle=rng)
            n = len(model.observed_names)
        scale = rng.uniform(0.7, 1.4)
        rows, interventional = round(self.rows * scale), round(self.interventional_rows * scale)
        data = experiment(model, rows, interventional, rng, **self.experiment).data
        count = round(self.targets * n) if self.targets <= 1 else round(self.targets)
        if count < n:
            chosen = np.sort(rng.choice(n, count, replace=False))
            data = InterventionalData(data.variables, [data.observational, *(data.interventional[k] for k in chosen)])
        return data, model.observed_adjacency.astype(bool)


def _settings() -> dict[str, Setting]:
    linear: Options = {"kind": "continuous", "mechanism": "linear", "variables": 10, "rows": 1500}
    additive: Options = {"kind": "continuous", "mechanism": "additive", "variables": 11, "rows": 1500}
    nonadditive: Options = {"kind": "continuous", "mechanism": "nonadditive", "variables": 12, "rows": 1500}
    mixed: Options = {"kind": "mixed", "variables": 11, "rows": 1500}
    few: Options = {"rows": 800, "interventional_rows": 60}
    tiny: Options = {"rows": 250, "interventional_rows": 50}
    return {
        "categorical": Setting(),
        "categorical, 30 variables": Setting(variables=30, rows=2000, interventional_rows=100),
        "categorical, dense": Setting(variables=12, density=2.5),
        "categorical, 40 variables, half of the targets": Setting(variables=36, targets=0.5, interventional_rows=100),
        "categorical, many rows": Setting(variables=12, density=2.0, rows=8000, interventional_rows=1000),
        "categorical, few rows": Setting(variables=14, **few),
        "categorical, fewest rows": Setting(variables=12, **tiny),
        "categorical, half of the targets": Setting(variables=18, targets=0.5, interventional_rows=100),
        "categorical, 2 targets": Setting(variables=18, targets=2, interventional_rows=300),
        "categorical, 30 % fail": Setting(experiment={"failed": 0.3}),
        "categorical, all fail": Setting(variables=12, rows=2000, experiment={"failed": 1.0}),
        "categorical, half of the rows": Setting(experiment={"hold": 0.5}),
        "categorical, a fifth of the rows": Setting(experiment={"hold": 0.2}),
        "categorical, soft": Setting(experiment={"effect": "soft"}),
        "categorical, shifts": Setting(experiment={"effect": "shift"}),
        "categorical, off target": Setting(experiment={"off_target": 0.3}),
        "linear": Setting(**linear),
        "linear, few rows, dense": Setting(**{**linear, **few, "density": 3.0, "variables": 14}),
        "linear, 3 targets": Setting(**{**linear, "targets": 3}),
        "linear, all fail": Setting(**{**linear, "experiment": {"failed": 1.0}}),
        "linear, shifts": Setting(**{**linear, "experiment": {"effect": "shift"}}),
        "additive": Setting(**additive),
        "additive, dense": Setting(**{**additive, "density": 3.0}),
        "additive, many rows": Setting(**{**additive, "rows": 5000, "interventional_rows": 800}),
        "additive, few rows": Setting(**{**additive, **few}),
        "additive, 30 % fail": Setting(**{**additive, "experiment": {"failed": 0.3}}),
        "additive, all fail": Setting(**{**additive, "experiment": {"failed": 1.0}}),
        "additive, soft": Setting(**{**additive, "experiment": {"effect": "soft"}}),
        "additive, off target": Setting(**{**additive, "experiment": {"off_target": 0.3}}),
        "nonadditive": Setting(**nonadditive),
        "nonadditive, fewest rows": Setting(**{**nonadditive, **tiny}),
        "nonadditive, 3 targets": Setting(**{**nonadditive, "targets": 3}),
        "mixed": Setting(**mixed),
        "mixed, dense": Setting(**{**mixed, "density": 2.5}),
        "mixed, 25 variables": Setting(**{**mixed, "variables": 25}),
        "mixed, few rows": Setting(**{**mixed, **few}),
        "mixed, 3 targets": Setting(**{**mixed, "targets": 3}),
        "mixed, shifts": Setting(**{**mixed, "experiment": {"effect": "shift"}}),
        "asia": Setting(kind="asia", rows=1000, interventional_rows=100),
        "sachs": Setting(kind="sachs", rows=1000, interventional_rows=100),
        "child": Setting(kind="child", rows=1000, interventional_rows=100),
        "child, 5 targets": Setting(kind="child", rows=1000, interventional_rows=100, targets=5),
        "alarm": Setting(kind="alarm", rows=1500, interventional_rows=60),
    }


SETTINGS: dict[str, Setting] = _settings()


def pairs_of(result: Result, truth: Mask) -> pd.DataFrame:
    """List the pairs that a fit has considered, each in the direction that it prefers.

    Parameters
    ----------
    result : Result
        After a search.
    truth : bool [N, N]

    Returns
    -------
    DataFrame
        ``edge`` (found by the search), ``log_odds`` and ``z`` (see `enco.result.confidence.joined_features`),
        ``ahead``, ``turn`` and ``told`` (see `enco.result.confidence.direction_features`), ``doubt``, ``trust``,
        ``joined`` and ``right`` (in truth: in any direction, and in this one), ``probability``, ``reverse`` (that of
        the other direction), ``learned`` and ``learned_reverse``.
    """
    found = result.confidence
    assert found is not None, "the fit made no search"
    assert result.interventions is not None, "the fit made no search"
    support, nearby = found.support, found.nearby
    graph = np.isfinite(found.gain)  # edges that were left out afterwards have a gain as well
    first, second = np.triu_indices(len(graph), 1)
    turned = graph[second, first] | (~graph[first, second] & (nearby[second, first] > nearby[first, second]))
    cause, effect = np.where(turned, second, first), np.where(turned, first, second)
    log_odds, z = joined_features(support)
    ahead, turn, told = direction_features(support)
    matrices = {
        "edge": graph,
        "log_odds": log_odds,
        "z": z,
        "ahead": ahead,
        "turn": turn,
        "told": told,
        "doubt": found.doubt,
        "joined": truth | truth.T,
        "right": truth,
        "probability": result.edge_probability,
        "reverse": result.edge_probability.T,
        "learned": result.learned_probability,
        "learned_reverse": result.learned_probability.T,
    }
    table = pd.DataFrame({name: matrix[cause, effect] for name, matrix in matrices.items()})
    return table.assign(trust=trust_in(result.interventions))[(nearby + nearby.T)[cause, effect] > 0]


def observed_pairs(
    seeds: Iterable[int],
    names: Sequence[str],
    *,
    n_jobs: int = 1,
    on_fit: Callable[[int], None] = lambda done: None,
) -> pd.DataFrame:
    """Fit data of some settings, one for each seed, and list the pairs of all fits; see `pairs_of`."""
    jobs = [(seed, name) for seed in seeds for name in names]
    found = []
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        for done, pairs in enumerate(pool.map(_pairs_of_one, jobs)):
            found.append(pairs)
            on_fit(done + 1)
    return pd.concat(found, ignore_index=True)


def _pairs_of_one(job: tuple[int, str]) -> pd.DataFrame:
    seed, name = job
    data, truth = SETTINGS[name].draw(np.random.default_rng([seed, zlib.crc32(name.encode())]))
    result = discover(data, settings=Settings(), seed=seed, n_jobs=1)
    return pairs_of(result, truth).assign(setting=name, seed=seed)


def fit_curves(pairs: pd.DataFrame) -> Curves:
    """Fit the curves by maximum likelihood, every setting with the same weight and no slope below zero.

    Where no intervention is believed, no direction gets a probability of `SURE`, whatever simulated data allow: a
    mechanism of another form than theirs looks like a direction as well.

    Examples
    --------
    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> x, z = rng.normal(1.0, 1.0, size=(2, 5000))
    >>> joined = rng.random(5000) < expit(0.5 + x + 0.2 * z)
    >>> right = joined & (rng.random(5000) < expit(2 * x + 0.5 * z))
    >>> drawn = pd.DataFrame({"edge": True, "log_odds": x, "z": z, "ahead": x, "turn": z, "told": 0.0, "doubt": 0.0})
    >>> drawn = drawn.assign(joined=joined, right=right, setting="one", trust=1.0)
    >>> other = drawn.assign(doubt=1.0, trust=0.0)
    >>> found = fit_curves(pd.concat([drawn, drawn.assign(edge=False, z=0.0), drawn.assign(doubt=1.0), other]))
    >>> np.allclose(found.edges, (0.5, 1.0, 0.2), atol=0.2), np.allclose(found.told, (2.0, 0.5, 0.0), atol=0.25)
    (True, True)
    """
    weight = (1.0 / pairs.groupby("setting")["edge"].transform("size")).to_numpy(float)
    edge, joined, right = (pairs[name].to_numpy(bool) for name in ("edge", "joined", "right"))
    log_odds, z, doubt, trust = (pairs[name].to_numpy(float) for name in ("log_odds", "z", "doubt", "trust"))
    ones, directions = np.ones(len(pairs)), tuple(pairs[name].to_numpy(float) for name in ("ahead", "turn", "told"))

    def existence(which: Mask) -> Triple:
        def loss(b: NDArray[np.float64]) -> float:
            score = (b[0] * ones + b[1] * log_odds + b[2] * z)[which]
            return float(np.sum(weight[which] * (np.logaddexp(0.0, score) - joined[which] * score)))

        return _least(loss, [(None, None), (0.0, None), (0.0, None)])

    def direction(which: Mask, curves: Callable[[NDArray[np.float64]], Curves], bounds: Bounds) -> Triple:
        features = tuple(feature[which] for feature in directions)

        def loss(b: NDArray[np.float64]) -> float:
            told = direction_probability((features[0], features[1], features[2]), doubt[which], trust[which], curves(b))
            said = np.clip(np.where(right[which], told, 1 - told), 1e-9, 1.0)
            return float(-np.sum(weight[which] * np.log(said)))

        return _least(loss, bounds)

    slope: tuple[float, None] = (0.0, None)
    right_ones = edge & joined
    edges, others = existence(edge), existence(~edge)
    zero = (0.0, 0.0, 0.0)
    told = direction(right_ones & (doubt < 1), lambda b: Curves(edges, others, triple(b), zero, zero), [slope] * 3)
    untold = right_ones & (doubt >= 1)
    no_told: Bounds = [slope, slope, (0.0, 0.0)]
    blind = direction(untold & (trust <= LEAST), lambda b: Curves(edges, others, told, zero, triple(b)), no_told)
    most = blind[0] * MOST_AHEAD + blind[1] * MOST_Z
    blind = triple(min(1.0, np.log(SURE / (1 - SURE)) * 0.95 / most) * b for b in blind) if most > 0 else blind
    rest = direction(untold & (trust > LEAST), lambda b: Curves(edges, others, told, triple(b), blind), no_told)
    return Curves(edges, others, told, rest, blind)


def _least(loss: Callable[[NDArray[np.float64]], float], bounds: Bounds) -> Triple:
    return triple(minimize(loss, np.zeros(3), method="L-BFGS-B", bounds=bounds).x)


def reliability(probability: pd.Series, right: pd.Series, bins: int = 10) -> tuple[float, pd.DataFrame]:
    """Return the expected calibration error of pairs with a probability above 0.05, and each bin.

    Examples
    --------
    >>> error, table = reliability(pd.Series([0.01, 0.95, 0.95]), pd.Series([False, True, False]))
    >>> round(error, 2), len(table)
    (0.45, 1)
    """
    counted = probability > LEAST
    place = (probability[counted] * bins).astype(int).clip(upper=bins - 1)
    table = pd.DataFrame({"probability": probability[counted], "right": right[counted]}).groupby(place).mean()
    table["pairs"] = place.value_counts()
    apart = (table["probability"] - table["right"]).abs()
    return float((apart * table["pairs"]).sum() / max(1, table["pairs"].sum())), table


def calibration_table(pairs: pd.DataFrame) -> str:
    """Judge probabilities in every setting, and beside them in brackets those of Algorithm 1: a table in Markdown."""
    columns = ["setting", "probability", "learned", "right"]
    turned = {"probability": pairs["reverse"], "learned": pairs["learned_reverse"]}
    backward = pairs.assign(**turned, right=pairs["joined"] & ~pairs["right"])
    both = pd.concat([pairs[columns], backward[columns]])
    lines = []
    for name, part in [("all", both), *both.groupby("setting", sort=False)]:
        error, _ = reliability(part["probability"], part["right"])
        before, _ = reliability(part["learned"], part["right"])
        sure, was_sure = (part["right"][part[column] >= SURE] for column in ("probability", "learned"))
        precision = [average_precision_score(part["right"], part[column]) for column in ("probability", "learned")]
        lines.append(
            [
                str(name),
                f"{error:.3f} ({before:.3f})",
                f"{len(sure)} ({len(was_sure)})",
                *(f"{share.mean():.3f}" if len(share) else "-" for share in (sure, was_sure)),
                f"{precision[0]:.3f} ({precision[1]:.3f})",
            ]
        )
    head = ["setting", "calibration error", "edges with 0.9", "of them right", "of those learned", "average precision"]
    return markdown(head, lines)


def curves_as_toml(found: Curves, fits: int) -> str:
    """Write curves as `calibration.toml` holds them."""
    parts = {"joined": ("edges", "others"), "direction": ("told", "untold", "blind")}
    lines = [f"# Made by: enco bench calibrate ({fits} fits). The coefficients of enco.result.confidence."]
    for part, names in parts.items():
        rows = {name: ", ".join(f"{number:.3f}" for number in getattr(found, name)) for name in names}
        lines += ["", f"[{part}]", *(f"{name} = [{row}]" for name, row in rows.items())]
    return "\n".join(lines) + "\n"
