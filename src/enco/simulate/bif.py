"""Networks in the Bayesian Interchange Format (.bif, .bif.gz): those that pgmpy carries, and one's own files.

The reader is our own: it is strict (whatever it does not understand is an error that names the file and the
line) and reads the largest of the known networks in about a second. pgmpy is needed only as the place where
the known networks are stored; it is never imported, and nothing is downloaded.
"""

import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec, module_from_spec
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from enco.data import Level
from enco.errors import EncoError, FileFormatError, MissingPackageError, SettingsError
from enco.simulate.cpts import from_cpts
from enco.simulate.scm import SCM

__all__ = ["BIF_NETWORKS", "from_bif", "parse_bif"]

BIF_NETWORKS = (
    "alarm", "andes", "asia", "barley", "cancer", "child", "diabetes", "earthquake", "hailfinder", "hepar2",
    "insurance", "link", "mildew", "munin", "munin1", "munin2", "munin3", "munin4", "pathfinder", "pigs",
    "sachs", "survey", "water", "win95pts",
)  # fmt: skip
"""Names of the networks in pgmpy's wheel (from the bnlearn repository), for `from_bif`."""

_MAX_ENTRIES = 200_000_000
_ROUNDING = 0.02  # published tables are rounded: rows may miss one by this much, and are normalised

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPACE = re.compile(r"\s*")
_NAME = r'(?:"[^"]*"|[^\s"{}(),;|\[\]]+)'
_NETWORK = re.compile(rf"network\s+(?:{_NAME}\s*)?\{{[^{{}}]*\}}")
_VARIABLE = re.compile(rf"variable\s+({_NAME})\s*\{{\s*([^{{}}]*)\{{([^{{}}]*)\}}\s*;([^{{}}]*)\}}")
_TYPE = re.compile(r"(?:property[^;]*;\s*)*type\s+discrete\s*\[\s*(\d+)\s*\]\s*")
_PROPERTIES = re.compile(r"(?:\s*property[^;]*;)*\s*")
_PROBABILITY = re.compile(rf"probability\s*\(\s*({_NAME})\s*(?:\|([^(){{}}]*))?\)\s*\{{([^{{}}]*)\}}")
_ENTRY = re.compile(r"(?:(table|default)\s|\(((?:\"[^\"]*\"|[^)\"])*)\))\s*([^;]*);\s*|property[^;]*;\s*")
_ITEM = re.compile(r'\s*("[^"]*"|[^,"]*[^,"\s])\s*(?:,|$)')


@dataclass(frozen=True)
class _Block:
    """One "probability" block before its tables are read."""

    child: str
    parents: list[str]
    body: str
    line: int


def from_bif(source: str | Path, *, shuffle: np.random.Generator | None = None) -> SCM:
    """Make a model from a known Bayesian network or from a BIF file.

    Parameters
    ----------
    source : str or Path
        One of `BIF_NETWORKS`, or the path of a .bif or .bif.gz file.
    shuffle : numpy.random.Generator, optional
        If given, the variables are put into a random order; else they keep the order of the file.

    Returns
    -------
    SCM
        The states of the file, as text, are the levels.

    Examples
    --------
    >>> model = from_bif("asia")
    >>> model, model.observed_names[:3], model.variables[0].levels
    (SCM(8 variables, 8 edges), ('asia', 'tub', 'smoke'), ('yes', 'no'))
    """
    if isinstance(source, str) and source in BIF_NETWORKS:
        label, content = f"network {source!r}", _bundled(source)
    else:
        path = Path(source)
        label = f"file {str(path)!r}"
        if not path.exists() and not path.suffix and path.name == str(source):
            raise SettingsError(
                f"unknown network {str(source)!r}; give the path of a .bif file or one of {', '.join(BIF_NETWORKS)}"
            )
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileFormatError(f"{label} cannot be read: {error.strerror or error}") from None
    try:
        plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        text = plain.decode("utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{label} is damaged: {error}") from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{label} is not text; a BIF file starts with the word 'network'") from None
    return parse_bif(text, label=label, shuffle=shuffle)


def _bundled(name: str) -> bytes:
    """Read one of the networks in pgmpy's wheel without importing pgmpy, which takes seconds."""
    spec = find_spec("pgmpy")
    if spec is None:
        raise MissingPackageError("pgmpy", "bif", f"the network {name!r}")
    folder = resources.files(module_from_spec(spec)) / "utils" / "example_models"
    try:
        return (folder / f"{name}.bif.gz").read_bytes()
    except OSError:
        raise FileFormatError(
            f"the installed pgmpy does not carry the network {name!r}; install pgmpy 1.1, or give the path "
            f"of a "
            ".bif file"
        ) from None


def parse_bif(text: str, *, label: str = "the text", shuffle: np.random.Generator | None = None) -> SCM:
    """Make a model from the text of a BIF file.

    Parameters
    ----------
    text : str
        Content of the file.
    label : str
        How messages call it.
    shuffle : numpy.random.Generator, optional
        If given, the variables are put into a random order.

    Returns
    -------
    SCM

    Examples
    --------
    >>> model = parse_bif('''
    ... network tiny {}
    ... variable coin { type discrete [ 2 ] { heads, tails }; }
    ... probability ( coin ) { table 0.5, 0.5; }
    ... ''')
    >>> model.joint_probabilities()
    array([0.5, 0.5])
    """
    plain = _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    states, blocks = _read_blocks(plain, label)
    missing = [name for name in states if name not in blocks]
    if missing:
        raise FileFormatError(f"{label}: variable {missing[0]!r} has no probabilities")
    if not states:
        raise FileFormatError(f"{label}: there are no variables; is this a BIF file?")
    names = list(states)
    if shuffle is not None:
        names = [names[index] for index in shuffle.permutation(len(names))]
    cpts = {name: (blocks[name].parents, _read_table(blocks[name], states, label)) for name in names}
    levels: dict[str, Sequence[Level]] = {name: tuple(states[name]) for name in names}
    try:
        return from_cpts(cpts, levels=levels)
    except EncoError as error:  # a cycle, or a name that cannot be one
        raise FileFormatError(f"{label}: {error}") from None


def _read_blocks(text: str, label: str) -> tuple[dict[str, list[str]], dict[str, _Block]]:
    """Split the whole text; return the states of each variable and the probability blocks, by name."""
    states: dict[str, list[str]] = {}
    blocks: dict[str, _Block] = {}
    place, line, counted = _skip(text, 0), 1, 0
    while place < len(text):
        line, counted = line + text.count("\n", counted, place), place
        if found := _NETWORK.match(text, place):
            pass
        elif found := _VARIABLE.match(text, place):
            name, kind, listed, rest = found.groups()
            name, own = _unquote(name), _items(listed, label, line)
            declared = _TYPE.fullmatch(kind)
            if not declared or not _PROPERTIES.fullmatch(rest):
                raise FileFormatError(f"{label}, line {line}: variable {name!r} is not of the type 'discrete [n]'")
            if int(declared.group(1)) != len(own) or len(set(own)) != len(own):
                raise FileFormatError(
                    f"{label}, line {line}: variable {name!r} should have {declared.group(1)} distinct "
                    f"states, "
                    f"but lists {len(set(own))}"
                )
            if name in states:
                raise FileFormatError(f"{label}, line {line}: variable {name!r} is declared twice")
            states[name] = own
        elif found := _PROBABILITY.match(text, place):
            child, given, body = found.groups()
            child, parents = _unquote(child), _items(given or "", label, line)
            if child in blocks:
                raise FileFormatError(f"{label}, line {line}: variable {child!r} has two probability blocks")
            blocks[child] = _Block(child, parents, body, line)
        else:
            snippet = text[place : place + 40].split("\n")[0]
            raise FileFormatError(f"{label}, line {line}: cannot read {snippet!r}; a BIF block was expected")
        place = _skip(text, found.end())
    for block in blocks.values():
        for name in (block.child, *block.parents):
            if name not in states:
                raise FileFormatError(f"{label}, line {block.line}: variable {name!r} is not declared")
    return states, blocks


def _read_table(block: _Block, states: dict[str, list[str]], label: str) -> NDArray[np.float64]:
    """Conditional probabilities [configurations, states], the last parent changing fastest."""
    where = f"{label}, probabilities of {block.child!r} (from line {block.line})"
    shape = [len(states[parent]) for parent in block.parents]
    n_states, configurations = len(states[block.child]), prod(shape)
    if configurations * n_states > _MAX_ENTRIES:
        raise FileFormatError(f"{where}: a table of {configurations:,} rows is too large")
    code = [{state: index for index, state in enumerate(states[parent])} for parent in block.parents]
    table = np.full((configurations, n_states), np.nan)
    default = None
    place = _skip(block.body, 0)
    while place < len(block.body):
        entry = _ENTRY.match(block.body, place)
        if entry is None:
            raise FileFormatError(f"{where}: cannot read {block.body[place : place + 40].split(chr(10))[0]!r}")
        place = entry.end()
        keyword, given, listed = entry.groups()
        if listed is None:  # a property
            continue
        values = _numbers(listed, where)
        if keyword == "table":  # all of it at once: by the format's definition, the child changes slowest
            if values.size != table.size:
                raise FileFormatError(f"{where}: {table.size} numbers are needed, but there are {values.size}")
            table[:] = values.reshape(n_states, configurations).T
            continue
        if values.size != n_states:
            raise FileFormatError(f"{where}: a row has {values.size} numbers for {n_states} states")
        if keyword == "default":
            default = values
            continue
        row, chosen = 0, _items(given, label, block.line)
        if len(chosen) != len(shape):
            raise FileFormatError(f"{where}: the row ({given}) names {len(chosen)} states for {len(shape)} parents")
        for parent, state in enumerate(chosen):
            if state not in code[parent]:
                raise FileFormatError(f"{where}: {state!r} is not a state of {block.parents[parent]!r}")
            row = row * shape[parent] + code[parent][state]
        if not np.isnan(table[row, 0]):
            raise FileFormatError(f"{where}: the row ({given}) appears twice")
        table[row] = values
    empty = np.isnan(table[:, 0])
    if default is not None:
        table[empty] = default
    elif empty.any():
        raise FileFormatError(f"{where}: {int(empty.sum())} of {configurations} rows are missing")
    sums = table.sum(axis=1)
    if (table < 0).any() or (np.abs(sums - 1) > _ROUNDING).any():
        worst = sums[np.argmax(np.abs(sums - 1))]
        raise FileFormatError(f"{where}: a row is not a probability distribution (it sums to {worst:g})")
    table /= sums[:, None]
    return table


def _numbers(text: str, where: str) -> NDArray[np.float64]:
    try:
        values = np.array(text.replace(",", " ").split(), dtype=np.float64)
    except ValueError as error:
        raise FileFormatError(f"{where}: {error}") from None
    if not np.isfinite(values).all():
        raise FileFormatError(f"{where}: probabilities must be finite numbers")
    return values


def _items(text: str, label: str, line: int) -> list[str]:
    """Split a comma-separated list of names; quotes protect commas."""
    result = []
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _ITEM.match(text[:end], place) if '"' in text else None
        if found is None:
            if '"' in text:
                raise FileFormatError(f"{label}, line {line}: cannot read the list {text.strip()[:40]!r}")
            parts = [part.strip() for part in text.split(",")]
            if not all(parts):
                raise FileFormatError(f"{label}, line {line}: the list {text.strip()[:40]!r} has an empty entry")
            return parts
        result.append(_unquote(found.group(1)))
        place = found.end()
    return result


def _unquote(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
