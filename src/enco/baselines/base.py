"""What a method is, and the table of all of them: a new method is one class and one line."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib.util import find_spec
from typing import Any, ClassVar

from enco.data import AnyKind, InterventionalData, Kind
from enco.errors import DataError, MissingPackageError, SettingsError
from enco.result import Result
from enco.settings import check_setting

__all__ = ["BOTH_KINDS", "METHODS", "Method", "MethodSettings", "find_method", "register", "require_packages"]

BOTH_KINDS: frozenset[AnyKind] = frozenset(Kind)


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """The settings of a method: a frozen dataclass with a default for everything. This one is empty.

    Numbers must be positive unless a method says otherwise in a check of its own.
    """

    def __post_init__(self) -> None:
        for setting in fields(self):
            check_setting(setting.name, setting.type, getattr(self, setting.name))


class Method(ABC):
    """A way from data to a graph.

    A subclass gives `name`, the `kinds` of variables it can handle, its `settings_type` and `learn`.

    Attributes
    ----------
    name : str
        As in `METHODS`, in specs and on the command line.
    kinds : frozenset of {"categorical", "continuous"}
    knows_context : bool
        Whether it is given context columns, and regimes whose targets are not known.
    settings_type : type
        A frozen dataclass; the keywords of `fit` are its fields.

    Examples
    --------
    >>> import numpy as np
    >>> class Nothing(Method):
    ...     name = "nothing"
    ...
    ...     def learn(self, data, settings, *, seed, n_jobs):
    ...         return Result.from_graph(np.zeros((data.n_variables, data.n_variables)), data)
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> Nothing().fit(data, seed=0, n_jobs=1)
    Result(2 variables, 0 edges)
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[AnyKind]] = BOTH_KINDS
    knows_context: ClassVar[bool] = False
    settings_type: ClassVar[type[Any]] = MethodSettings

    def fit(self, data: InterventionalData, *, seed: int, n_jobs: int, **settings: Any) -> Result:
        """Learn a graph.

        Parameters
        ----------
        data : InterventionalData
        seed : int
            Same seed, same graph.
        n_jobs : int
            Threads.
        **settings
            Fields of `settings_type` that differ from their defaults.

        Returns
        -------
        Result
            With the method's name among its settings and the seconds it took.
        """
        data = data if self.knows_context else self._plain(data)
        chosen = self.settings_for(data, **settings)
        self._check_kinds(data)
        started = time.perf_counter()
        result = self.learn(data, chosen, seed=seed, n_jobs=n_jobs)
        seconds = time.perf_counter() - started
        return replace(result, seconds=seconds, seed=seed, settings={"method": self.name, **asdict(chosen)})

    @abstractmethod
    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Learn a graph from data of the right kinds; `settings` is a `settings_type`. `fit` adds time and settings."""

    def make_settings(self, **given: Any) -> Any:
        """Return a `settings_type` with these fields changed; a name it does not have is a `SettingsError`."""
        known = [setting.name for setting in fields(self.settings_type)]
        for name in given:
            if name not in known:
                choice = f"choose from {', '.join(sorted(known))}" if known else "it has none"
                raise SettingsError(f"method {self.name!r} has no setting {name!r}; {choice}")
        return self.settings_type(**given)

    def settings_for(self, data: InterventionalData, **given: Any) -> Any:
        """Return the settings for these data; the same for all unless a method says otherwise."""
        return self.make_settings(**given)

    def read_settings(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Turn texts, as the command line gives them, into keywords of `fit`; what is no number stays for its checks.

        Examples
        --------
        >>> find_method("sdi").read_settings({"sparsity": "0.1", "max_epochs": "many"})
        {'sparsity': 0.1, 'max_epochs': 'many'}
        """
        types = {setting.name: setting.type for setting in fields(self.settings_type)}
        return {name: _read(text, types.get(name)) for name, text in texts.items()}

    def _plain(self, data: InterventionalData) -> InterventionalData:
        """Leave context out, and refuse interventions whose targets nobody knows."""
        for regime in data.regimes:
            if regime.unknown:
                raise DataError(
                    f"method {self.name!r} needs the targets of every intervention, and those of {regime.label!r} are "
                    "not known: name them, leave its rows out, or choose enco"
                )
        return data.without_context()

    def _check_kinds(self, data: InterventionalData) -> None:
        for variable in data.variables:
            if variable.kind not in self.kinds:
                able = [name for name, method in METHODS.items() if set(data.kinds) <= method.kinds]
                raise DataError(
                    f"method {self.name!r} cannot handle {variable.kind} variables such as {variable.name!r}: "
                    f"choose from {', '.join(able)}"
                )


def _read(text: str, kind: Any) -> Any:
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        return text


METHODS: dict[str, Method] = {}
"""Every method by its name."""


def register(method: Method) -> Method:
    """Add a method to `METHODS`; a name that is taken is a `SettingsError`.

    Examples
    --------
    >>> register(find_method("enco"))
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: there is a method 'enco' already: give yours another name
    """
    if method.name in METHODS:
        raise SettingsError(f"there is a method {method.name!r} already: give yours another name")
    METHODS[method.name] = method
    return method


def find_method(name: str) -> Method:
    """Return the method of that name.

    Examples
    --------
    >>> find_method("enco").name
    'enco'
    """
    if name not in METHODS:
        raise SettingsError(f"there is no method {name!r}; choose from {', '.join(METHODS)}")
    return METHODS[name]


def require_packages(purpose: str, extra: str, *packages: str) -> None:
    """Raise `MissingPackageError` unless all of these can be imported.

    Examples
    --------
    >>> require_packages("method 'mine'", "mine", "enco", "there_is_none")
    Traceback (most recent call last):
    ...
    enco.errors.MissingPackageError: method 'mine' needs the package 'there_is_none': pip install 'enco[mine]'
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingPackageError(package, extra, purpose)
