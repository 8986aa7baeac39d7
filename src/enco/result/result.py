"""`Result`: the graph a fit has found, how sure it is of every edge, and what speaks for it."""

import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from enco._version import __version__
from enco.data import InterventionalData
from enco.errors import FileFormatError, SettingsError
from enco.fitting.loop import EpochRecord
from enco.graphs.dag import topological_order
from enco.graphs.order import acyclic
from enco.knowledge import REQUIRED
from enco.result.confidence import Confidence, count_at_fdr
from enco.result.evidence import Evidence
from enco.result.fields import CONFIDENCE, FREQUENCY, LATENT, check_graph, check_history, check_parameters, is_number
from enco.result.folder import GRAPH, HISTORY, PARAMETERS, result_in
from enco.result.interventions import probabilities_in, shifts_in, table_of_records
from enco.result.null_table import null_control_in
from enco.result.ordering import report_of_order
from enco.result.storage import read_folder, write_folder

__all__ = ["Result"]

Floats = NDArray[np.float64]
Edges = NDArray[np.uint8]

_GRAPH_KEYS = (
    "variables",
    "adjacency",
    "adjacency_raw",
    "order",
    "order_report",
    "settings",
    "knowledge",
    "seed",
    "seconds",
    "version",
)
_EPOCH = [entry.name for entry in fields(EpochRecord)]
_ARRAYS = ("gamma", "theta", "regimes", "rows", "orientation_rows")
_OF_SEARCH = ("gain", "gain_error", "turn", "turn_error", "slope")
_EDGE_EPOCHS = "edge_epochs"  # there if a fit has epochs
_OPTIONAL = (*LATENT, FREQUENCY, _EDGE_EPOCHS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """The outcome of a fit. In every matrix the row is the cause and the column the effect.

    Attributes
    ----------
    variables : tuple of str
        Names, in the order of the columns of the data.
    adjacency : uint8 [N, N]
        The graph: 1 where there is an edge. It is acyclic.
    adjacency_raw : uint8 [N, N]
        The graph before the order step and the search: existence and orientation both above one half.
    gamma, theta : float64 [N, N]
        Edge parameters; gamma is -inf where an edge was not considered, theta is antisymmetric.
    order : tuple of str
        A causal order of all variables: every edge of the graph goes forward in it.
    order_report : dict
        ``components``: for every set of variables with a cycle among them, its order, the method that found it, its
        score and its gap; ``gap``: the sum of the gaps, 0 if every order is proven to be the best; ``removed``: edges;
        ``refined``: what the search then did, each move with the edges ``added`` and ``removed`` and its gain in nats;
        ``totals``: of the objective, before and after each search; those of two searches cannot be compared, because
        other predictors answer; ``unsure``: edges that the search has found and whose variables are less likely joined
        than not, which are no part of the graph; ``unlike``: in what the data are unlike all that the probabilities
        were calibrated on; ``left_out``: edges that `at_fdr` has taken out of the graph.
    evidence : Evidence
        Regimes and rows that inform every pair.
    history : DataFrame
        One row per epoch.
    settings, knowledge : dict
        What the fit was told.
    seed : int
    seconds : float
    version : str
        Of this package.
    confounder_scores : float64 [N, N] or None
        How surely each pair shares a latent confounder, from 0 to 1, symmetric; NaN where a pair cannot be scored.
        None if the fit was not asked for confounders (``latent``). See `enco.score.confounding`.
    lc_scores : float64 [N, N] or None
        The paper's score lc of the same pairs, from gamma alone.
    edge_epochs : uint8 [epochs / 8, N, N] or None
        Which pairs were edges after each epoch, a bit each; see `edges_after`.
    interventions : DataFrame or None
        What every intervention did, one row for each regime and target: whether the target was ``inferred``, because
        no label names it; ``rows``; the ``verdict``, "perfect", "soft" or "no effect"; the ``share`` of the rows in
        which it took hold; the ``evidence`` that it did anything, in nats; the ``p_value`` of a test that nothing was
        done (too small for an inferred target, which was chosen because it shifts most); the ``effect_size`` on the
        target by itself, total variation or standard deviations; and ``suspects``, variables that it seems to have hit
        although no label says so.
    target_probability : DataFrame or None
        Of every variable to be a target of every regime whose targets are not known; None if there is no such regime.
    shifts : DataFrame or None
        Variables that shift in a regime although the graph says that they cannot: ``regime``, ``variable``, the
        ``p_value`` of a test of that variable alone, and the ``size`` of the difference, total variation or that
        between distribution functions.
    confidence : Confidence or None
        How sure the search is of every pair; without a search, gamma and theta say so.
    frequency : float64 [N, N] or None
        Share of the refits whose graph has each edge (`enco.stability`); None if no refits were made.
    null_control : DataFrame or None
        How many edges of each confidence remain with permuted labels (`enco.null_control.NullControl.table`); None if
        that was not run.
    data_digest : str or None
        Of the data, if the fit recorded it (as `enco fit` does, to know them again).
    """

    variables: tuple[str, ...]
    adjacency: Edges
    adjacency_raw: Edges
    gamma: Floats
    theta: Floats
    order: tuple[str, ...]
    order_report: dict[str, Any]
    evidence: Evidence
    history: pd.DataFrame
    settings: dict[str, Any]
    knowledge: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    seconds: float = 0.0
    version: str = __version__
    confounder_scores: Floats | None = None
    lc_scores: Floats | None = None
    edge_epochs: Edges | None = None
    interventions: pd.DataFrame | None = None
    target_probability: pd.DataFrame | None = None
    shifts: pd.DataFrame | None = None
    confidence: Confidence | None = None
    frequency: Floats | None = None
    null_control: pd.DataFrame | None = None
    data_digest: str | None = None

    @classmethod
    def from_graph(
        cls,
        adjacency: ArrayLike,
        data: InterventionalData,
        *,
        probability: ArrayLike | None = None,
        history: pd.DataFrame | None = None,
    ) -> "Result":
        """Wrap the graph that some other method has found; if it has cycles, they are cut.

        Parameters
        ----------
        adjacency : [N, N]
            Row = cause, column = effect, in the order of the columns of the data; becomes `adjacency_raw`.
        data : InterventionalData
        probability : [N, N], optional
            How sure the method is of every edge; it is sure of its graph by default. Cycles are cut where that costs
            the least.
        history : DataFrame, optional

        Notes
        -----
        Existence is p[i, j] + p[j, i], at most 1, and orientation the share of p[i, j] in it: their product is p[i, j].

        Examples
        --------
        >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
        >>> result = Result.from_graph([[0, 1], [1, 0]], data, probability=[[0, 0.6], [0.2, 0]])
        >>> result, result.edge_probability.round(3).tolist()
        (Result(2 variables, 1 edge, 1 more removed to break cycles), [[0.0, 0.6], [0.2, 0.0]])
        """
        raw = np.asarray(adjacency).astype(bool)
        sure = np.asarray(raw if probability is None else probability, np.float64)
        either = sure + sure.T
        # Clipped, so that a method that is certain does not leave infinite numbers behind.
        gamma = np.clip(logit(np.clip(either, 0.0, 1.0)), -REQUIRED, REQUIRED)
        np.fill_diagonal(gamma, -np.inf)
        share = np.divide(sure, either, out=np.full_like(sure, 0.5), where=either > 0)
        theta = np.clip(logit(share), -REQUIRED, REQUIRED)
        ordered = acyclic(raw, np.triu(theta, 1) - np.triu(theta, 1).T, names=data.names)
        return cls(
            variables=data.names,
            adjacency=ordered.adjacency.astype(np.uint8),
            adjacency_raw=raw.astype(np.uint8),
            gamma=gamma,
            theta=theta,
            order=tuple(data.names[position] for position in ordered.order),
            order_report=report_of_order(ordered, data.names) | {"refined": []},
            evidence=Evidence.of(data),
            history=pd.DataFrame(columns=_EPOCH) if history is None else history,
            settings={},
        )

    @property
    def adjacency_ordered(self) -> Edges:
        """The graph between the order step and the search, uint8 [N, N]: `adjacency_raw` without its cycles."""
        place = {name: position for position, name in enumerate(self.variables)}
        ordered = self.adjacency_raw.copy()
        for cause, effect in self.order_report["removed"]:
            ordered[place[cause], place[effect]] = 0
        return ordered

    @property
    def existence(self) -> Floats:
        """Probability that the two variables are joined by an edge, in either direction, [N, N]."""
        return self.learned_existence if self.confidence is None else self.confidence.existence

    @property
    def orientation(self) -> Floats:
        """Probability that an edge between the two goes from the row to the column, [N, N]."""
        return self.learned_orientation if self.confidence is None else self.confidence.orientation

    @property
    def edge_probability(self) -> Floats:
        """Probability of every edge, existence times orientation, [N, N]; 0 where an edge was not considered.

        After a search it is calibrated: of edges with 0.9, about nine in ten are right on simulated data
        (`enco.result.confidence`). An edge of the graph has at least one half, and no other pair has.
        """
        return self.existence * self.orientation

    @property
    def learned_existence(self) -> Floats:
        """sigmoid(gamma), [N, N]: what Algorithm 1 says of the existence of every edge."""
        return expit(self.gamma)  # type: ignore[no-any-return]

    @property
    def learned_orientation(self) -> Floats:
        """sigmoid(theta), [N, N]: what Algorithm 1 says of the direction of every edge."""
        return expit(self.theta)  # type: ignore[no-any-return]

    @property
    def learned_probability(self) -> Floats:
        """sigmoid(gamma) * sigmoid(theta), [N, N], before the order step and the search."""
        return self.learned_existence * self.learned_orientation

    @property
    def source(self) -> NDArray[np.str_]:
        """Where each edge of the graph comes from, [N, N]: see `to_frame`; "" where there is none."""
        before = self.adjacency_ordered
        names = np.where(before, "learned", np.where(before.T, "reversed", "added"))
        return np.where(self.adjacency, names, "")

    @property
    def confounders(self) -> list[tuple[str, str, float]]:
        """Pairs that share a latent confounder: two names and the score, the surest first; they carry no edge."""
        if self.confounder_scores is None:
            return []
        found = np.triu(self.confounder_scores > self.settings["confounder_threshold"], k=1)
        names, score = self.variables, self.confounder_scores
        listed = [(names[one], names[other], float(score[one, other])) for one, other in np.argwhere(found)]
        return sorted(listed, key=lambda pair: (-pair[2], pair[0], pair[1]))

    @property
    def n_edges(self) -> int:
        """Edges of the final graph."""
        return int(self.adjacency.sum())

    def to_frame(self) -> pd.DataFrame:
        """One row per edge of the graph, the surest first.

        Returns
        -------
        DataFrame
            ``cause``, ``effect``, ``probability`` (existence times orientation), ``existence``, ``orientation``,
            ``frequency`` (share of the refits that found it; NaN without refits), ``source`` ("learned": Algorithm 1
            and the order step have it; "reversed", "added": the search did that), ``gain`` and ``gain_error`` (what
            the rows lose without the edge, in nats, and its standard error), ``turn`` and ``turn_error`` (what they
            lose if it is turned round), ``slope`` (sign and size of the direct
            effect, see `enco.result.slopes`), ``learned_probability``,
            ``regimes`` and ``rows`` (intervention regimes that inform the existence, and their rows),
            ``orientation_rows`` (rows of regimes that target one of the two only), ``adjacent_intervention`` (whether
            there is such a regime; without one, the orientation rests on interventions elsewhere).

        Examples
        --------
        >>> from enco.discover import conclude
        >>> from enco.fitting.loop import Discovery
        >>> from enco.knowledge import Knowledge
        >>> from enco.settings import Settings
        >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
        >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
        >>> result = conclude(fit, data, seconds=0.0, seed=0)
        >>> result.to_frame()[["cause", "effect", "probability", "rows", "adjacent_intervention"]]
          cause effect  probability  rows  adjacent_intervention
        0    X1     X2          1.0     4                   True
        """
        cause, effect = np.nonzero(self.adjacency)
        names = np.array(self.variables, dtype=object)
        table = pd.DataFrame(
            {
                "cause": names[cause],
                "effect": names[effect],
                "probability": self.edge_probability[cause, effect],
                "existence": self.existence[cause, effect],
                "orientation": self.orientation[cause, effect],
                "frequency": np.nan if self.frequency is None else self.frequency[cause, effect],
                "source": self.source[cause, effect].astype(object),
                **{name: self._of_search(name)[cause, effect] for name in _OF_SEARCH},
                "learned_probability": self.learned_probability[cause, effect],
                "regimes": self.evidence.regimes[cause, effect],
                "rows": self.evidence.rows[cause, effect],
                "orientation_rows": self.evidence.orientation_rows[cause, effect],
                "adjacent_intervention": self.evidence.adjacent_intervention[cause, effect],
            }
        )
        return table.sort_values(
            ["probability", "cause", "effect"], ascending=[False, True, True], ignore_index=True, kind="stable"
        )

    def _of_search(self, name: str) -> Floats:
        return np.full(self.gamma.shape, np.nan) if self.confidence is None else getattr(self.confidence, name)

    def to_networkx(self) -> nx.DiGraph:
        """Return the graph as a `networkx.DiGraph`: nodes are names, edges carry the columns of `to_frame`.

        Examples
        --------
        >>> from enco.discover import conclude
        >>> from enco.fitting.loop import Discovery
        >>> from enco.knowledge import Knowledge
        >>> from enco.settings import Settings
        >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
        >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
        >>> result = conclude(fit, data, seconds=0.0, seed=0)
        >>> result.to_networkx().edges["X1", "X2"]["orientation_rows"]
        4
        """
        table = self.to_frame()
        attributes = [name for name in table if name not in ("cause", "effect")]
        graph = nx.from_pandas_edgelist(table, "cause", "effect", edge_attr=attributes, create_using=nx.DiGraph)
        ordered = nx.DiGraph()
        ordered.add_nodes_from(self.variables)
        ordered.add_edges_from(graph.edges(data=True))
        return ordered

    def plot(self, kind: str = "graph", **options: Any) -> Any:
        """Draw a figure by name; see `enco.plotting.draw` for the kinds and options.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from enco.result.example import small_result
        >>> small_result().plot("orientation").get_xlabel()
        'probability of the direction'
        """
        from enco.plotting import draw

        return draw(self, kind, **options)

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write one HTML page that shows everything; see `enco.report.write_report` for the options.

        Examples
        --------
        >>> import tempfile
        >>> from enco.result.example import small_result
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     small_result().report(f"{folder}/report.html")
        """
        from enco.report import write_report

        write_report(path, self, **options)

    def at_fdr(self, share: float) -> "Result":
        """Return the same with only as many edges, the surest first, as leave an expected share of false ones.

        Of edges with the probabilities p_1, ..., p_m, the expected share of false ones is the mean of 1 - p.
        ``order_report["left_out"]`` lists the others.

        Examples
        --------
        >>> from enco.result.example import small_result
        >>> result = small_result()
        >>> result.to_frame()["probability"].round(3).tolist(), result.at_fdr(0.1).n_edges, result.at_fdr(0.01).n_edges
        ([0.975, 0.779], 1, 0)
        """
        if not is_number(share) or not 0 < share < 1:
            raise SettingsError(f"the share of false edges must lie between 0 and 1, got {share!r}")
        surest = self.to_frame()[["cause", "effect", "probability"]]
        left_out = surest[count_at_fdr(surest["probability"].to_numpy(), share) :]
        place = {name: position for position, name in enumerate(self.variables)}
        adjacency = self.adjacency.copy()
        for cause, effect in zip(left_out["cause"], left_out["effect"], strict=True):
            adjacency[place[cause], place[effect]] = 0
        report = self.order_report | {"left_out": left_out[["cause", "effect"]].to_numpy().tolist()}
        return replace(self, adjacency=adjacency, order_report=report)

    def edges_after(self, epoch: int) -> NDArray[np.bool_]:
        """Return what gamma and theta said after an epoch, counted from 1, before order step and search, [N, N].

        Examples
        --------
        >>> from enco.result.example import small_result
        >>> result = small_result()
        >>> [int(result.edges_after(epoch).sum()) for epoch in result.history["epoch"]] == list(result.history["edges"])
        True
        """
        if self.edge_epochs is None or not 1 <= epoch <= len(self.history):
            raise SettingsError(f"the result holds no record of the edges after epoch {epoch}")
        which, bit = divmod(epoch - 1, 8)
        after: NDArray[np.bool_] = (self.edge_epochs[which] >> np.uint8(bit) & 1).astype(bool)
        return after

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder with `graph.json`, `edges.csv`, `history.csv` and `parameters.npz`.

        A result that is already there stays until the new one is complete. `graph.json` holds ``variables``,
        ``adjacency``, ``adjacency_raw``, ``edge_probability``, ``order``, ``order_report``, ``settings``,
        ``knowledge``, ``seed``, ``seconds``, ``version`` and, if it is known, ``data_digest``; after a fit with
        ``latent``, also ``confounders`` (pairs with their score) and ``confounded_pairs`` (the pairs alone, which
        `enco evaluate` compares).

        Parameters
        ----------
        folder : path-like
            Is created if needed; other files in it stay.
        overwrite : bool
            Whether a result that is already there may be replaced.

        Examples
        --------
        >>> import tempfile
        >>> from enco.discover import conclude
        >>> from enco.fitting.loop import Discovery
        >>> from enco.knowledge import Knowledge
        >>> from enco.settings import Settings
        >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
        >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
        >>> result = conclude(fit, data, seconds=0.0, seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(folder)
        ...     Result.load(folder)
        Result(2 variables, 1 edge)
        """
        content = {
            "variables": list(self.variables),
            "adjacency": self.adjacency.tolist(),
            "adjacency_raw": self.adjacency_raw.tolist(),
            "edge_probability": self.edge_probability.tolist(),
            "order": list(self.order),
            "order_report": self.order_report,
            "settings": self.settings,
            "knowledge": self.knowledge,
            "seed": self.seed,
            "seconds": self.seconds,
            "version": self.version,
        }
        for name in ("interventions", "shifts", "null_control"):
            if (table := getattr(self, name)) is not None:
                content[name] = table.astype(object).where(table.notna(), None).to_dict("records")
        if (probability := self.target_probability) is not None:
            content["target_probability"] = dict(zip(probability.index, probability.to_numpy().tolist(), strict=True))
        if self.data_digest is not None:
            content["data_digest"] = self.data_digest
        if self.confounder_scores is not None:
            content["confounders"] = [list(pair) for pair in self.confounders]
            content["confounded_pairs"] = [[one, other] for one, other, _ in self.confounders]
        parameters = {
            "gamma": self.gamma,
            "theta": self.theta,
            "regimes": self.evidence.regimes,
            "rows": self.evidence.rows,
            "orientation_rows": self.evidence.orientation_rows,
        }
        if self.confidence is not None:
            parameters |= {name: getattr(self.confidence, name) for name in CONFIDENCE}
        parameters |= {name: values for name in _OPTIONAL if (values := getattr(self, name)) is not None}
        write_folder(
            folder,
            content,
            edges=self.to_frame(),
            history=self.history,
            parameters=parameters,
            overwrite=overwrite,
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Result":
        """Read what `save` wrote.

        Examples
        --------
        >>> Result.load("nowhere")
        Traceback (most recent call last):
            ...
        enco.errors.FileFormatError: nowhere: there is no such folder
        """
        content, history, arrays = read_folder(folder, _GRAPH_KEYS, _ARRAYS, optional=(*CONFIDENCE, *_OPTIONAL))
        place = result_in(Path(folder))
        check_graph(place / GRAPH, content, latent=any(name in arrays for name in LATENT))
        check_history(place / HISTORY, history)
        check_parameters(place / PARAMETERS, arrays)
        n = len(content["variables"])
        for key in ("adjacency", "adjacency_raw"):
            arrays[key] = _binary(content[key])
        for key, array in arrays.items():
            if array.shape[key == _EDGE_EPOCHS :] != (n, n):
                raise FileFormatError(f"{folder}: {key!r} must be a matrix with one row and column per variable ({n})")
        epochs = arrays.get(_EDGE_EPOCHS)
        if epochs is not None and (epochs.dtype != np.uint8 or 8 * len(epochs) < len(history)):
            raise FileFormatError(
                f"{folder}: {_EDGE_EPOCHS!r} must hold a bit for every epoch ({len(history)}) and pair"
            )
        topological_order(arrays["adjacency"])  # names a cycle, if somebody has put one there
        return cls(
            variables=tuple(content["variables"]),
            adjacency=arrays["adjacency"],
            adjacency_raw=arrays["adjacency_raw"],
            gamma=arrays["gamma"],
            theta=arrays["theta"],
            order=tuple(content["order"]),
            order_report=content["order_report"],
            evidence=Evidence(arrays["regimes"], arrays["rows"], arrays["orientation_rows"]),
            history=history,
            settings=content["settings"],
            knowledge=content["knowledge"],
            seed=content["seed"],
            seconds=content["seconds"],
            version=content["version"],
            interventions=table_of_records(place / GRAPH, content.get("interventions")),
            target_probability=probabilities_in(place / GRAPH, content.get("target_probability"), content["variables"]),
            shifts=shifts_in(place / GRAPH, content.get("shifts")),
            confidence=Confidence(**{name: arrays[name] for name in CONFIDENCE}) if CONFIDENCE[0] in arrays else None,
            data_digest=content.get("data_digest"),
            null_control=null_control_in(place / GRAPH, content.get("null_control")),
            **{name: arrays[name] for name in _OPTIONAL if name in arrays},
        )

    def __repr__(self) -> str:
        removed = len(self.order_report["removed"])
        return (
            f"Result({len(self.variables)} variables, {self.n_edges} edge{'s' if self.n_edges != 1 else ''}"
            f"{f', {removed} more removed to break cycles' if removed else ''}"
            f"{f', {len(self.confounders)} confounded pairs' if self.confounder_scores is not None else ''})"
        )


def _binary(rows: Any) -> Edges:
    try:
        matrix = np.array(rows)
    except (ValueError, RecursionError):  # rows of unequal length
        return np.zeros(0, np.uint8)
    return (
        matrix.astype(np.uint8) if matrix.dtype.kind == "i" and np.isin(matrix, (0, 1)).all() else np.zeros(0, np.uint8)
    )
