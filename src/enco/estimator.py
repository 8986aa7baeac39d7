"""`ENCO`: causal discovery as a scikit-learn estimator."""

import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from enco.conditionals.torch import NetworkFactory
from enco.data import InterventionalData, Variable
from enco.data.meanings import UNKNOWN, Meanings
from enco.data.variables import Condition
from enco.discover import conclude
from enco.errors import DataError, SettingsError
from enco.executors.threads import count_threads
from enco.fitting.loop import Discovery
from enco.io._build import default_names
from enco.io._targets import relabelled, resolve_targets
from enco.io.arrays import data_from_rows
from enco.io.frames import is_frame, open_frame
from enco.knowledge import Knowledge
from enco.likelihood import Mechanisms, aligned
from enco.result import Result
from enco.result.interventions import with_inferred_targets
from enco.settings import (
    CandidateRule,
    DensityName,
    EngineName,
    EstimatorName,
    InterventionRule,
    PresetName,
    Settings,
)

__all__ = ["ENCO"]

Reagents = Mapping[Any, Any] | str
"""What labels mean: a mapping to targets, or "unknown"."""

_OBSERVATIONAL = ("", "control")
_DIRECT = (
    "preset",
    "sparsity",
    "max_epochs",
    "estimator",
    "hidden",
    "engine",
    "density",
    "latent",
    "interventions",
    "off_target",
    "regime_shift",
)


class ENCO(BaseEstimator):
    """Efficient neural causal discovery (Lippe, Cohen and Gavves, ICLR 2022) for categorical and continuous variables.

    Parameters
    ----------
    sparsity : float
        lambda_sparse: how much an edge must lower the loss of its effect, in nats, to be kept.
    max_epochs : int
        Rounds of Algorithm 1; a fit stops earlier once its graph has settled.
    estimator : {"paired", "independent", "reinforce"}
        How gradients of the edge parameters are estimated; the last two reproduce the paper's ablation.
    hidden : int
        Units of the hidden layer of the conditional networks.
    engine : {"auto", "fused", "torch"}
        What computes the conditional networks; "auto" takes the fused engine wherever it can do what is asked.
    density : {"gaussian", "dsf", "spline"}
        Of continuous variables given their parents: normal, deep sigmoidal flow, neural spline flow. Flows need
        ``pip install "enco[torch]"``.
    preset : {"enco", "paper"}
        Settings to begin with: the default ones, or those of the paper, which is Algorithm 1 with its order step and
        nothing else (`Settings.paper`). Parameters and settings that differ from the default ones override it.
    candidates : {"auto", "all", "screen"} or bool [N, N]
        Pairs to consider: all of them, those that a test of dependence leaves (see `enco.screening`), or a mask of your
        own, row = cause, over the variables of the graph or over all columns. "auto" is "all" for up to 75 variables
        and "screen" for more.
    latent : bool
        Whether to look for pairs of variables that share a latent confounder.
    interventions : {"auto", "perfect", "soft"} or mapping from regime to one of them
        Whether labels are tested first: rows of interventions without effect are then observational rows, and rows in
        which an intervention did not take hold count as such. "perfect" believes every label; "soft" says that targets
        still listen to their causes, in a way of their own. A mapping says it of some regimes, by their labels or the
        names of their targets joined by "+"; the others are tested.
    off_target : bool
        Whether variables that a regime seems to have hit, though no label says so, count as further targets of it.
    context : sequence of str or int, optional
        Columns of X, by name or position, that describe the circumstances of a row, such as a batch or a donor: they
        may influence every variable, and are no part of the graph.
    regime_shift : bool
        Whether every regime has an intercept of its own for each continuous variable, as if it were a batch.
    network : callable, optional
        A network of your own: called with (n_inputs, n_outputs) for every variable, returns a `torch.nn.Module`.
    settings : dict or Settings, optional
        Any of the settings, see `enco.Settings`. A setting given both here and above with two different values
        that are not the default is an error.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers, roots and leaves.
    random_state : int, numpy random generator or None
        Same number, same result, whatever `n_jobs` is; None draws a new number for every fit.
    n_jobs : int or None
        Threads; None or -1 for every core.
    verbose : int
        1 writes one line per epoch to standard error.

    Attributes
    ----------
    adjacency_matrix_ : uint8 [N, N]
        The graph, acyclic: entry [i, j] = 1 means i -> j, in the order of the columns that are not context.
    adjacency_matrix_raw_ : uint8 [N, N]
        The graph before cycles were broken.
    edge_probabilities_ : float64 [N, N]
        sigmoid(gamma) * sigmoid(theta).
    gamma_, theta_ : float64 [N, N]
        Parameters of the existence (-inf where an edge was not considered) and the orientation of every edge.
    causal_order_ : list of str
        Names, causes before effects.
    causal_graph_ : networkx.DiGraph
    history_ : pandas.DataFrame
        One row per epoch.
    confounder_scores_ : float64 [N, N] or None
        How surely each pair shares a latent confounder; None without `latent`, NaN where a pair cannot be scored.
    result_ : Result
        All of the above, with evidence; can be saved.
    n_features_in_, n_iter_ : int
        Columns of X, with context, and epochs.
    feature_names_in_ : array of str
        Names of these columns, only if the data have names of their own.

    Examples
    --------
    >>> from enco import simulate
    >>> rng = np.random.default_rng(0)
    >>> data = simulate.categorical("chain", 3, rng, categories=3).dataset(200, 50, rng=rng)
    >>> ENCO(max_epochs=1, random_state=0, n_jobs=1).fit(data).adjacency_matrix_.shape
    (3, 3)
    """

    def __init__(
        self,
        *,
        sparsity: float = Settings.sparsity,
        max_epochs: int = Settings.max_epochs,
        estimator: EstimatorName = Settings.estimator,
        hidden: int = Settings.hidden,
        engine: EngineName = Settings.engine,
        density: DensityName = Settings.density,
        preset: PresetName = Settings.preset,
        candidates: CandidateRule | ArrayLike = Settings.candidates,
        latent: bool = Settings.latent,
        interventions: InterventionRule | Mapping[str, InterventionRule] = Settings.interventions,
        off_target: bool = Settings.off_target,
        context: Sequence[str | int] | None = None,
        regime_shift: bool = Settings.regime_shift,
        network: NetworkFactory | None = None,
        settings: Mapping[str, Any] | Settings | None = None,
        knowledge: Knowledge | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sparsity = sparsity
        self.max_epochs = max_epochs
        self.estimator = estimator
        self.hidden = hidden
        self.engine = engine
        self.density = density
        self.preset = preset
        self.candidates = candidates
        self.latent = latent
        self.interventions = interventions
        self.off_target = off_target
        self.context = context
        self.regime_shift = regime_shift
        self.network = network
        self.settings = settings
        self.knowledge = knowledge
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # What `fit` sets.
    adjacency_matrix_: NDArray[np.uint8]
    adjacency_matrix_raw_: NDArray[np.uint8]
    edge_probabilities_: NDArray[np.float64]
    gamma_: NDArray[np.float64]
    theta_: NDArray[np.float64]
    causal_order_: list[str]
    causal_graph_: nx.DiGraph
    history_: pd.DataFrame
    confounder_scores_: NDArray[np.float64] | None
    result_: Result
    n_features_in_: int
    n_iter_: int
    feature_names_in_: NDArray[np.object_]
    _fit_data: InterventionalData
    _mechanisms: Mechanisms | None  # trained when they are first needed

    def fit(
        self, X: Any, y: Any = None, *, targets: Sequence[Any] | None = None, reagents: Reagents | None = None
    ) -> "ENCO":
        """Learn the graph.

        Parameters
        ----------
        X : InterventionalData, or array-like or data frame [rows, N]
            Integers, truth values and text are categorical.
        y : ignored
            There for the sake of scikit-learn's pipelines.
        targets : sequence, one entry per row of X
            What was intervened on: None, "" or "control" for observational rows, else a column's name or position, a
            collection of them, or a label that `reagents` explains. Left out if X is an InterventionalData, which knows
            its targets; "unknown" makes it forget them.
        reagents : mapping from label to targets, or "unknown"
            What labels mean: the name or position of a column, or a list of them; None (or "unknown") for an
            intervention whose targets nobody knows, which the fit infers; "observational"; or
            ``{"targets": ..., "interventions": "soft"}``. "unknown" alone says that nobody knows the targets of any
            label.

        Returns
        -------
        self

        Examples
        --------
        >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]] * 10)
        >>> fitted = ENCO(max_epochs=1, random_state=0, n_jobs=1).fit(x, targets=[None] * 30 + [0] * 10)
        >>> fitted.causal_order_ in (["X1", "X2"], ["X2", "X1"])
        True
        >>> labels = [None] * 30 + ["drug X"] * 10
        >>> fitted = ENCO(max_epochs=1, random_state=0, n_jobs=1).fit(x, targets=labels, reagents={"drug X": None})
        >>> fitted.result_.interventions[["regime", "inferred"]].values.tolist()
        [['drug X', True]]
        """
        self._settings()  # refuses what is wrong before it looks at data
        n_jobs = count_threads(self.n_jobs)
        seed = _seed(self.random_state)
        if self.knowledge is not None and not isinstance(self.knowledge, Knowledge):
            raise SettingsError(f"knowledge must be a Knowledge object, got {type(self.knowledge).__name__}")
        data = _data(X, targets, reagents, context=self.context)
        if isinstance(self.interventions, Mapping):
            data = data.claiming({str(name): claim for name, claim in self.interventions.items()})
        settings = self._settings(int((~data.is_context).sum()), partial=data.partial)
        started = time.perf_counter()
        discovery = Discovery(
            data,
            settings=settings,
            knowledge=self.knowledge,
            seed=seed,
            n_jobs=n_jobs,
            network=self.network,
            candidates=None if isinstance(self.candidates, str) else _candidate_mask(self.candidates, data, settings),
        )
        discovery.run(on_epoch=_write_line if self.verbose else lambda discovery: None)
        seconds = time.perf_counter() - started
        result = conclude(discovery, data, seconds=seconds, seed=seed, knowledge=self.knowledge)

        self._fit_data = data
        self._mechanisms = None
        self.result_ = result
        self.adjacency_matrix_ = result.adjacency
        self.adjacency_matrix_raw_ = result.adjacency_raw
        self.edge_probabilities_ = result.edge_probability
        self.gamma_ = result.gamma
        self.theta_ = result.theta
        self.causal_order_ = list(result.order)
        self.causal_graph_ = result.to_networkx()
        self.history_ = result.history
        self.confounder_scores_ = result.confounder_scores
        self.n_features_in_ = data.n_variables
        self.n_iter_ = len(result.history)
        if _has_names(X):
            self.feature_names_in_ = np.array(data.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        return self

    def score(
        self, X: Any, y: Any = None, *, targets: Sequence[Any] | None = None, reagents: Reagents | None = None
    ) -> float:
        """Log-likelihood of rows that the fit has not seen, given its graph; no true graph is needed.

        Counted are the values that no intervention set, in the rows of intervention regimes, or in observational rows
        if there are no others. Targets that the fit has inferred count as set. Context explains nothing here. The first
        call trains mechanisms for the edges of the graph on the rows of the fit.

        Parameters
        ----------
        X : InterventionalData, or array-like or data frame [rows, N]
            The same variables as in the fit; at least one row must be observational.
        y : ignored
        targets, reagents
            As in `fit`.

        Returns
        -------
        float
            Mean over these values, in nats; higher is better.

        Examples
        --------
        >>> from enco import simulate
        >>> rng = np.random.default_rng(0)
        >>> model = simulate.categorical("chain", 3, rng, categories=3)
        >>> fitted = ENCO(max_epochs=1, random_state=0, n_jobs=1).fit(model.dataset(200, 50, rng=rng))
        >>> -1.1 < fitted.score(model.dataset(100, 20, rng=rng)) < 0  # guessing would give -log 3
        True
        """
        check_is_fitted(self)
        table = self.result_.interventions
        known = with_inferred_targets(self._fit_data.without_context(), table)
        data = _data(X, targets, reagents, known=self._fit_data.variables).without_context()
        data = with_inferred_targets(aligned(data, known.variables), table)
        if self._mechanisms is None:
            self._mechanisms = Mechanisms(
                known,
                self.adjacency_matrix_,
                settings=Settings(**self.result_.settings),
                network=self.network,
                seed=self.result_.seed,
                n_jobs=count_threads(self.n_jobs),
            )
        return self._mechanisms.log_likelihood(data.interventional or data.regimes)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"_mechanisms": None} if "_mechanisms" in state else state  # they own threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _settings(self, n_variables: int = 25, *, partial: bool = False) -> Settings:
        """Direct parameters and `settings` together; where only one of the two differs from the default, it counts.

        Those that differ from the default override the preset, as do all that `settings` names.
        """
        known = {setting.name: setting.default for setting in fields(Settings)}
        if isinstance(self.settings, Settings):
            given = asdict(self.settings)
        elif self.settings is None or isinstance(self.settings, Mapping):
            given = dict(self.settings or {})
        else:
            raise SettingsError(f"settings must be a dict or a Settings object, got {type(self.settings).__name__}")
        for name in given:
            if name not in known:
                raise SettingsError(f"there is no setting {name!r}; choose from {', '.join(sorted(known))}")
        for name in (*_DIRECT, *(["candidates"] if isinstance(self.candidates, str) else [])):
            direct, other = getattr(self, name), given.get(name, known[name])
            if isinstance(direct, Mapping):  # of interventions, by regime: the data say it
                direct = known[name]
            if direct != other and known[name] not in (direct, other):
                raise SettingsError(
                    f"{name} is {direct!r} as a parameter and {other!r} in settings: give it in one place only"
                )
            if name in given or direct != known[name]:
                given[name] = other if direct == known[name] else direct
        return Settings.of_preset(n_variables, partial=partial, **given)


def _candidate_mask(candidates: ArrayLike, data: InterventionalData, settings: Settings) -> NDArray[np.bool_]:
    """Return a mask of the user's over all columns of a fit; context may influence whatever is not in the mask."""
    mask, in_graph = np.asarray(candidates), np.flatnonzero(~data.is_context)
    n, columns = len(in_graph), data.n_variables
    if mask.shape not in ((n, n), (columns, columns)) or mask.dtype.kind not in "biuf":
        raise SettingsError(
            f"candidates must be 'auto', 'all', 'screen' or a mask of {n} x {n} entries, row = "
            f"cause; got {f'an array of shape {mask.shape}' if mask.ndim else repr(candidates)}"
        )
    whole = np.ones((columns + settings.regime_shift,) * 2, bool)  # the regime is one more column, the last
    named = in_graph if len(mask) == n else np.arange(columns)
    whole[np.ix_(named, named)] = mask.astype(bool)
    return whole


def _seed(random_state: Any) -> int:
    if random_state is None:
        return secrets.randbits(32)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise SettingsError(
            f"random_state must be a whole number from 0, a numpy random generator or None; got {random_state!r}"
        )
    return int(random_state)


def _data(
    X: Any,
    targets: Sequence[Any] | None,
    reagents: Reagents | None,
    *,
    context: Sequence[str | int] | None = None,
    known: Sequence[Variable] | None = None,
) -> InterventionalData:
    """Read what the user passed, as the variables that are known from a fit if there was one."""
    if isinstance(X, InterventionalData):
        return _relabelled(X, targets, reagents).with_context(_context(context, known, X.names))
    if issparse(X):
        raise DataError("X is sparse, and sparse input is not supported: pass X.toarray()")
    table = X if is_frame(X) else np.asarray(X)
    if not is_frame(X) and table.ndim != 2:
        raise DataError(f"X is a {table.ndim}-d array: pass rows x variables")
    if not is_frame(X):
        _check_array(table, len(known) if known is not None else None)
    own = list(open_frame(X).names) if is_frame(X) else default_names(table.shape[1])
    n_rows = open_frame(X).n_rows if is_frame(X) else len(table)
    renamed = [variable.name for variable in known or ()] if not is_frame(X) else []
    names = renamed or own
    given = [variable for variable in known or () if variable.name in names]
    return data_from_rows(
        table,
        _conditions(targets, n_rows, names, _meanings(reagents, names)),
        names=renamed or None,
        context=_context(context, known, names),
        kinds={variable.name: variable.kind for variable in given},
        levels={variable.name: variable.levels for variable in given if variable.levels is not None},
    )


def _relabelled(
    data: InterventionalData, targets: Sequence[Any] | None, reagents: Reagents | None
) -> InterventionalData:
    if isinstance(targets, str) and targets == UNKNOWN and reagents is None:
        reagents = UNKNOWN
    elif targets is not None:
        raise DataError(
            "an InterventionalData knows its targets: leave targets= out, or say in reagents= what its labels mean"
        )
    meanings = _meanings(reagents, data.names)
    return data if meanings is None else relabelled(data, meanings)


def _meanings(reagents: Reagents | None, names: Sequence[str]) -> Meanings | None:
    """Read what labels mean, with names in the place of positions."""

    def by_name(label: Any, entry: Any) -> Any:
        if isinstance(entry, Mapping):
            return {key: by_name(label, value) if key == "targets" else value for key, value in entry.items()}
        if isinstance(entry, list | tuple | set | frozenset | np.ndarray):
            return [by_name(label, it) for it in entry]
        if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
            return entry
        if not 0 <= entry < len(names):
            raise DataError(
                f"the label {label!r} is mapped to position {entry}, but there are {len(names)} columns: positions go "
                f"from 0 to {len(names) - 1}"
            )
        return names[int(entry)]

    if isinstance(reagents, Mapping):
        return Meanings.of({label: by_name(label, entry) for label, entry in reagents.items()})
    if reagents is not None and reagents != UNKNOWN:
        raise DataError(f"reagents must be a mapping from labels to targets, or 'unknown', got {reagents!r}")
    return Meanings.of(reagents)


def _context(context: Sequence[str | int] | None, known: Sequence[Variable] | None, names: Sequence[str]) -> list[str]:
    """Return names of context columns: those asked for, or those of the fit that are there."""
    if known is not None:
        return [variable.name for variable in known if variable.context and variable.name in names]
    if context is None:
        return []
    if isinstance(context, str | int) or not all(isinstance(it, str | int | np.integer) for it in context):
        raise SettingsError(f"context must be a list of columns, by name or position, got {context!r}")
    for column in context:
        if isinstance(column, str) and column not in names:
            raise DataError(f"context names the column {column!r}, which is not there: columns start with {names[:5]}")
        if not isinstance(column, str) and not 0 <= column < len(names):
            raise DataError(f"context names position {column}, but there are {len(names)} columns: they start from 0")
    return [column if isinstance(column, str) else names[int(column)] for column in context]


def _check_array(table: NDArray[Any], expected: int | None) -> None:
    """Refuse what no reader of tables meets, in the words that users of scikit-learn know."""
    n_rows, n_columns = table.shape
    if table.dtype.kind == "c":
        raise DataError("Complex data not supported: pass real numbers")
    if expected is not None and n_columns != expected:
        raise DataError(f"X has {n_columns} features, but ENCO is expecting {expected} features as input")
    if n_columns < 2:
        raise DataError(
            f"X has {n_columns} feature(s) (shape={table.shape}) while a minimum of 2 is required: "
            "a causal graph needs at least 2 columns"
        )
    if expected is None and n_rows == 1:
        raise DataError("X has 1 sample: pass observational rows and rows of at least one intervention")


def _has_names(X: Any) -> bool:
    if isinstance(X, pd.DataFrame):
        return all(isinstance(name, str) for name in X.columns)
    return isinstance(X, InterventionalData) or is_frame(X)


def _conditions(
    targets: Sequence[Any] | None, n_rows: int, names: Sequence[str], meanings: Meanings | None
) -> list[Condition]:
    """Say what was done in each row."""
    entries = [None] * n_rows if targets is None else [targets] if isinstance(targets, str) else list(targets)
    if len(entries) != n_rows:
        raise DataError(
            f"there are {n_rows} rows but {len(entries)} targets: give one entry per row, None for observational rows"
        )
    positions = {name: position for position, name in enumerate(names)}
    found, labels = [], set()
    for row, entry in enumerate(map(_plain, entries)):
        label = str(entry) if isinstance(entry, str | int | np.integer) and not isinstance(entry, bool) else None
        if label is not None:
            labels.add(label)
        meant = None if meanings is None or label is None else meanings.condition(label, positions)
        if meant is None and meanings is not None and isinstance(entry, str) and entry not in positions:
            raise DataError(
                f"row {row} has the label {entry!r}, which is no column of X: say in reagents= what it means"
            )
        found.append(Condition(resolve_targets(entry, positions, f"row {row}")) if meant is None else meant)
    if meanings is not None:
        meanings.check_used(labels)
    return found


def _plain(entry: Any) -> Any:
    """None for whatever marks an observational row; missing values in a column of a data frame do."""
    if entry is None or (isinstance(entry, str) and entry in _OBSERVATIONAL):
        return None
    if entry is pd.NA or (isinstance(entry, float | np.floating) and np.isnan(entry)):
        return None
    return [entry] if isinstance(entry, float | np.floating) else entry


def _write_line(discovery: Discovery) -> None:
    last = discovery.history[-1]
    sys.stderr.write(
        f"epoch {last.epoch}/{discovery.settings.max_epochs}: {last.edges} edges, {last.undecided} undecided, "
        f"held-out loss {last.held_out_loss:.4f}\n"
    )
