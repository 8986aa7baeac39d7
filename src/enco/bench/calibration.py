"""How often probabilities of edges are right, and the curves that make them so (`enco.result.confidence`).

Fits of simulated data of many kinds, whose graphs are known (`enco.bench.calibration_settings`). Curves are fitted on
some seeds (`enco bench calibrate`), and judged on others (`enco bench run calibration`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score

from enco.bench.calibration_settings import SettingProblem
from enco.bench.markup import markdown
from enco.discover import discover
from enco.result import Result
from enco.result.circumstances import Circumstances
from enco.result.confidence import (
    EVEN,
    MOST_Z,
    SMALLEST,
    Curves,
    Triple,
    count_at_fdr,
    direction_features,
    direction_probability,
    joined_features,
    tempered,
    triple,
)
from enco.result.interventions import trust_in
from enco.settings import Settings

__all__ = [
    "as_record",
    "brier_sentence",
    "calibration_table",
    "curves_as_toml",
    "directed",
    "fit_curves",
    "from_records",
    "observed_pairs",
    "pairs_of",
    "reliability",
]

Mask = NDArray[np.bool_]

NUMBERS = ("probability", "learned", "frequency")
DIRECTED = ["setting", "fit", "probability", "learned", "right"]
NEGLIGIBLE = 0.005  # probability below which a wrong direction changes no figure
LEAST = 0.05  # pairs with less do not count: they are many, and nearly all of them right
SURE = 0.9

MOST_AHEAD = float(tempered(np.array(np.log(1 / SMALLEST))))

Bounds = list[tuple[float | None, float | None]]


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
        the other direction), ``learned`` and ``learned_reverse``, and with refits ``frequency`` and
        ``frequency_reverse``.
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
    if result.frequency is not None:
        matrices |= {"frequency": result.frequency, "frequency_reverse": result.frequency.T}
    table = pd.DataFrame({name: matrix[cause, effect] for name, matrix in matrices.items()})
    return table.assign(trust=trust_in(result.interventions))[(nearby + nearby.T)[cause, effect] > 0]


def observed_pairs(
    seeds: Iterable[int],
    names: Sequence[str],
    *,
    n_jobs: int = 1,
    on_fit: Callable[[int], None] = lambda done: None,
) -> tuple[pd.DataFrame, list[Circumstances]]:
    """Fit data of some settings, for each seed; list the pairs of all fits (see `pairs_of`) and what data they had."""
    jobs = [(seed, name) for seed in seeds for name in names]
    found, seen = [], []
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        for done, (pairs, circumstances) in enumerate(pool.map(_pairs_of_one, jobs)):
            found.append(pairs)
            seen.append(circumstances)
            on_fit(done + 1)
    return pd.concat(found, ignore_index=True), seen


def _pairs_of_one(job: tuple[int, str]) -> tuple[pd.DataFrame, Circumstances]:
    seed, name = job
    data, truth = SettingProblem(setting=name, seed=seed).draw()
    result = discover(data, settings=Settings(), seed=seed, n_jobs=1)
    return pairs_of(result, truth).assign(setting=name, fit=seed), Circumstances.of(data, result.shifts)


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


def directed(pairs: pd.DataFrame) -> pd.DataFrame:
    """List both directions of pairs (see `pairs_of`): ``setting``, ``probability``, ``learned`` and ``right``."""
    turned = {"probability": pairs["reverse"], "learned": pairs["learned_reverse"]}
    columns = DIRECTED
    if "frequency" in pairs:
        columns, turned = [*DIRECTED, "frequency"], {**turned, "frequency": pairs["frequency_reverse"]}
    backward = pairs.assign(**turned, right=pairs["joined"] & ~pairs["right"])
    return pd.concat([pairs[columns], backward[columns]], ignore_index=True)


def calibration_table(both: pd.DataFrame, layout: Callable[..., str] = markdown) -> str:
    """Judge probabilities in every setting, and beside them in brackets those of Algorithm 1.

    Parameters
    ----------
    both : DataFrame
        See `directed`.
    layout : callable
        See `enco.bench.markup`.
    """
    lines = []
    for name, part in [("all", both), *both.groupby("setting", sort=False)]:
        error, _ = reliability(part["probability"], part["right"])
        before, _ = reliability(part["learned"], part["right"])
        sure, was_sure = (part["right"][part[column] >= SURE] for column in ("probability", "learned"))
        precision = [average_precision_score(part["right"], part[column]) for column in ("probability", "learned")]
        kept, false = _at_share(part)
        lines.append(
            [
                str(name),
                f"{error:.3f} ({before:.3f})",
                f"{len(sure)} ({len(was_sure)})",
                *(f"{share.mean():.3f}" if len(share) else "-" for share in (sure, was_sure)),
                f"{precision[0]:.3f} ({precision[1]:.3f})",
                f"{false:.3f}" if kept else "-",
            ]
        )
    head = [
        "setting",
        "calibration error",
        "edges with 0.9",
        "of them right",
        "of those learned",
        "average precision",
        "false at fdr 0.1",
    ]
    return layout(head, lines, left=1)


def brier_sentence(told: pd.DataFrame) -> str | None:
    """Compare squared errors of probabilities and of frequencies over refits; None where there were no refits."""
    if not len(told):
        return None
    right, fits = told["right"].astype(float), told["fit"].nunique()
    squares = {name: (told[name] - right) ** 2 for name in NUMBERS}
    apart = (squares["probability"] - squares["frequency"]).groupby(told["fit"]).sum()
    error = float(apart.std(ddof=1) / np.sqrt(fits)) if fits > 1 else float("nan")
    sums = {name: float(square.sum()) / fits for name, square in squares.items()}
    return (
        f"Squared errors of all directed pairs, summed over a fit, mean of {fits} fits with refits: probability "
        f"{sums['probability']:.2f}, frequency {sums['frequency']:.2f} (difference {apart.mean():+.2f} ± {error:.2f}), "
        f"by Algorithm 1 {sums['learned']:.2f}."
    )


def _at_share(part: pd.DataFrame, share: float = 0.1) -> tuple[int, float]:
    """Count the edges that are kept up to an expected share of false ones in each fit, and the share that is false."""
    kept = false = 0
    for _, fit in part[part["probability"] >= EVEN].groupby("fit"):
        surest = fit.sort_values("probability", ascending=False, kind="stable")
        chosen = surest[: count_at_fdr(surest["probability"].to_numpy(float), share)]
        kept, false = kept + len(chosen), false + int((~chosen["right"].astype(bool)).sum())
    return kept, false / max(1, kept)


def as_record(pairs: pd.DataFrame) -> dict[str, list[float]]:
    """Return what a record of a fit holds of its pairs: both directions, those that matter to some figure.

    Examples
    --------
    >>> pairs = pd.DataFrame({"probability": [0.98], "reverse": [0.001], "learned": [0.5], "learned_reverse": [0.0]})
    >>> as_record(pairs.assign(joined=True, right=True, setting=""))
    {'probability': [0.98], 'learned': [0.5], 'right': [1]}
    """
    both = directed(pairs.assign(setting="", fit=0))
    numbers = [name for name in NUMBERS if name in both]
    said = both[(both[numbers] >= NEGLIGIBLE).any(axis=1) | both["right"].astype(bool)]
    return {**{name: said[name].round(5).tolist() for name in numbers}, "right": said["right"].astype(int).tolist()}


def from_records(records: Iterable[Mapping[str, Any]], *, refits: bool = False) -> pd.DataFrame:
    """Return the directed pairs of the records of fits: of those with refits, or of those without."""
    parts = [
        pd.DataFrame(record["pairs"]).assign(setting=record["setting"], fit=record["key"])
        for record in records
        if "pairs" in record and ("frequency" in record["pairs"]) == refits
    ]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=DIRECTED)
    return table.assign(right=table["right"].astype(bool))


def curves_as_toml(found: Curves, ranges: Mapping[str, tuple[float, float]], fits: int) -> str:
    """Write curves, and what data they were fitted on, as `calibration.toml` holds them."""
    parts = {"joined": ("edges", "others"), "direction": ("told", "untold", "blind")}
    lines = [
        f"# Made by: enco bench calibrate ({fits} fits).",
        "# The coefficients of enco.result.confidence, and the least and largest numbers of enco.result.circumstances.",
    ]
    for part, names in parts.items():
        rows = {name: ", ".join(f"{number:.3f}" for number in getattr(found, name)) for name in names}
        lines += ["", f"[{part}]", *(f"{name} = [{row}]" for name, row in rows.items())]
    lines += ["", "[range]", *(f"{name} = [{low:.4g}, {high:.4g}]" for name, (low, high) in ranges.items())]
    return "\n".join(lines) + "\n"
