"""What a fit hands over: the graph in the order of the columns, its evidence, and files that come back the same."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from enco import simulate
from enco.data import InterventionalData
from enco.discover import _Found, conclude
from enco.errors import EncoError, FileFormatError, SettingsError
from enco.fitting.loop import Discovery, EpochRecord
from enco.io import read_graph
from enco.knowledge import Knowledge
from enco.result import Result
from enco.result.evidence import Evidence
from enco.result.example import small_result
from enco.search.dag import Path
from enco.search.state import Move, State
from enco.settings import Settings

NAMES = ("delta", "alpha", "charlie", "bravo")  # not in alphabetical order


def make_data(names=NAMES, targets=((), (0,), (1,), (2, 3))):
    rng = np.random.default_rng(0)
    blocks = [rng.integers(2, size=(10 * (index + 1), len(names))) for index in range(len(targets))]
    return InterventionalData.from_environments(blocks, [list(target) for target in targets], names=names)


def make_fit(edges, *, knowledge=None, data=None):
    """A fit whose parameters are set by hand: theta of the named edges, and gamma = 5 there, -5 elsewhere.

    Its networks have learned nothing, so there must be no search.
    """
    data = make_data() if data is None else data
    fit = Discovery(data, settings=Settings(sparsity=0.01, refine_rounds=0), knowledge=knowledge, seed=3)
    names = np.array(sorted(data.names))
    gamma, theta = fit.parameters.gamma, fit.parameters.theta
    for pair, (cause, effect) in enumerate(zip(fit.candidates.cause, fit.candidates.effect, strict=True)):
        if gamma[pair] == 0 and theta[pair] == 0:
            forward = edges.get((names[cause], names[effect]))
            backward = edges.get((names[effect], names[cause]))
            gamma[pair] = 5.0 if forward is not None else -5.0
            theta[pair] = forward or -(backward or 0.0)
    fit.history.append(EpochRecord(1, 2, 0, 2, 1.0 / 3.0, 10.5))
    return fit, data


def make_result(edges, *, knowledge=None, data=None):
    fit, data = make_fit(edges, knowledge=knowledge, data=data)
    return conclude(fit, data, seconds=1.5, seed=3, knowledge=knowledge)


DAG = {("alpha", "bravo"): 3.0, ("charlie", "alpha"): 2.0, ("delta", "bravo"): 1.0}


def edges_of(matrix, names=NAMES):
    return {(names[cause], names[effect]) for cause, effect in np.argwhere(matrix)}


def test_everything_is_in_the_order_of_the_columns():
    result = make_result(DAG)
    assert result.variables == NAMES
    assert edges_of(result.adjacency) == edges_of(result.adjacency_raw) == set(DAG)
    assert result.adjacency.dtype == np.uint8
    for (cause, effect), theta in DAG.items():
        place = NAMES.index(cause), NAMES.index(effect)
        assert result.theta[place] == theta
        assert result.gamma[place] == 5.0
        assert result.edge_probability[place] == pytest.approx(expit(5.0) * expit(theta))
    assert np.array_equal(result.theta, -result.theta.T)
    position = {name: place for place, name in enumerate(result.order)}
    assert sorted(position) == sorted(NAMES)
    assert all(position[cause] < position[effect] for cause, effect in DAG)


def test_permuting_the_columns_permutes_the_result():
    edges = {("alpha", "bravo"): 1.0, ("bravo", "charlie"): 1.0, ("charlie", "alpha"): 1.0, ("delta", "alpha"): 1.0}
    first = make_result(edges)
    other_names = ("bravo", "delta", "alpha", "charlie")
    second = make_result(edges, data=make_data().select(other_names))
    order = [NAMES.index(name) for name in other_names]
    for key in ("adjacency", "adjacency_raw", "gamma", "theta", "edge_probability"):
        assert np.array_equal(getattr(first, key)[np.ix_(order, order)], getattr(second, key))
    assert first.order == second.order
    assert first.order_report == second.order_report
    assert np.array_equal(first.evidence.rows[np.ix_(order, order)], second.evidence.rows)
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())


def set_evidence(monkeypatch, nats):
    """Replace what the data say about orientations: {(cause, effect): nats}, names in alphabetical order."""

    def orientation_evidence(discovery):
        matrix = np.zeros((len(NAMES), len(NAMES)))
        for (cause, effect), value in nats.items():
            i, j = sorted(NAMES).index(cause), sorted(NAMES).index(effect)
            matrix[i, j], matrix[j, i] = value, -value
        return discovery.candidates.gather(matrix)

    monkeypatch.setattr(Discovery, "orientation_evidence", orientation_evidence)


def test_data_next_to_a_cycle_outweigh_theta(monkeypatch):
    set_evidence(monkeypatch, {("alpha", "bravo"): 0.1, ("bravo", "charlie"): 40.0, ("charlie", "alpha"): 30.0})
    result = make_result({("alpha", "bravo"): 3.0, ("bravo", "charlie"): 2.0, ("charlie", "alpha"): 0.5})
    assert edges_of(result.adjacency_raw) - edges_of(result.adjacency) == {("alpha", "bravo")}


def test_cycles_are_broken_where_the_orientation_is_least_certain(monkeypatch):
    set_evidence(monkeypatch, {})
    result = make_result({("alpha", "bravo"): 3.0, ("bravo", "charlie"): 2.0, ("charlie", "alpha"): 0.5})
    assert edges_of(result.adjacency_raw) - edges_of(result.adjacency) == {("charlie", "alpha")}
    assert result.order_report == {
        "components": [
            {
                "variables": ["alpha", "bravo", "charlie"],
                "method": "exact",
                "score": pytest.approx(-1.1496, abs=1e-4),
                "gap": 0.0,
            }
        ],
        "gap": 0.0,
        "removed": [["charlie", "alpha"]],
        "refined": [],
        "totals": [],
        "unsure": [],
    }
    assert repr(result) == "Result(4 variables, 2 edges, 1 more removed to break cycles)"


def set_moves(monkeypatch, *moves):
    """Replace the search: (kind, {effect: parents}, gain) are done as they are, from a total of 100."""
    names = sorted(NAMES)

    def searched(discovery, graph, confounded=None, **options):
        state, done, total = State.of(graph), [], 100.0
        for kind, families, gain in moves:
            parents = {names.index(k): frozenset(map(names.index, causes)) for k, causes in families.items()}
            done.append(Move(kind, parents, gain))
            state, total = state.changed(parents), total - gain
        return _Found([Path(state.graph, done, 100.0, total)], discovery.labelled.regimes)

    monkeypatch.setattr("enco.discover._searched", searched)


def test_what_the_search_did_is_reported_by_name(monkeypatch, tmp_path):
    set_moves(
        monkeypatch,
        ("reverse", {"alpha": ["bravo", "charlie"], "bravo": ["delta"]}, 7.5),
        ("delete", {"alpha": ["bravo"]}, 2.0),
        ("add", {"charlie": ["delta"]}, 0.25),
    )
    result = make_result(DAG)
    assert edges_of(result.adjacency_raw) == set(DAG)
    assert edges_of(result.adjacency) == {("bravo", "alpha"), ("delta", "bravo"), ("delta", "charlie")}
    assert result.order_report["removed"] == []
    assert result.order_report["refined"] == [
        {"move": "reverse", "added": [["bravo", "alpha"]], "removed": [["alpha", "bravo"]], "gain": 7.5},
        {"move": "delete", "added": [], "removed": [["charlie", "alpha"]], "gain": 2.0},
        {"move": "add", "added": [["delta", "charlie"]], "removed": [], "gain": 0.25},
    ]
    assert result.order_report["totals"] == [[100.0, 90.25]]
    # Everything that follows from the graph follows from the one that the search found.
    assert result.order == ("delta", "bravo", "alpha", "charlie")
    assert result.n_edges == 3
    assert repr(result) == "Result(4 variables, 3 edges)"
    frame = result.to_frame()
    assert set(zip(frame["cause"], frame["effect"], strict=True)) == edges_of(result.adjacency)
    assert set(result.to_networkx().edges) == edges_of(result.adjacency)
    result.save(tmp_path)
    again = Result.load(tmp_path)
    assert again.order_report == result.order_report
    assert edges_of(again.adjacency) == edges_of(result.adjacency)


def test_an_edge_added_by_the_search_keeps_the_probability_that_was_learned(monkeypatch):
    set_moves(monkeypatch, ("add", {"charlie": ["delta"]}, 0.25))
    frame = make_result(DAG).to_frame()
    added = frame[(frame["cause"] == "delta") & (frame["effect"] == "charlie")].iloc[0]
    assert added["existence"] == pytest.approx(expit(-5.0))
    assert added.name == 3  # the least sure comes last


def test_the_search_starts_from_the_acyclic_graph(monkeypatch):
    given = []

    def searched(discovery, graph, confounded=None, **options):
        given.append(graph.copy())
        return _Found([Path(graph, [], 0.0, 0.0)], discovery.labelled.regimes)

    monkeypatch.setattr("enco.discover._searched", searched)
    set_evidence(monkeypatch, {})
    result = make_result({("alpha", "bravo"): 3.0, ("bravo", "charlie"): 2.0, ("charlie", "alpha"): 0.5})
    assert [edges_of(graph, sorted(NAMES)) for graph in given] == [{("alpha", "bravo"), ("bravo", "charlie")}]
    assert edges_of(result.adjacency) == {("alpha", "bravo"), ("bravo", "charlie")}


def test_required_edges_survive_whatever_was_learned():
    known = Knowledge(required=[("alpha", "bravo"), ("charlie", "delta")])
    learned = {("bravo", "charlie"): 400.0, ("delta", "alpha"): 400.0}
    result = make_result(learned, knowledge=known)
    assert edges_of(result.adjacency_raw) == {*known.required, *learned}
    assert set(known.required) <= edges_of(result.adjacency)
    assert len(result.order_report["removed"]) == 1
    assert nx.is_directed_acyclic_graph(nx.DiGraph(result.adjacency))


def test_edges_that_were_not_considered_have_probability_zero():
    result = make_result(
        {("alpha", "bravo"): 3.0}, knowledge=Knowledge(forbidden=[("bravo", "alpha"), ("delta", "alpha")])
    )
    place = NAMES.index("bravo"), NAMES.index("alpha")
    assert result.gamma[place] == -np.inf
    assert result.theta[place] == -result.theta.T[place] < 0
    assert result.edge_probability[place] == 0.0
    assert not np.diag(result.edge_probability).any()
    assert np.array_equal(result.theta, -result.theta.T)


def test_evidence_counts_by_definition():
    data = make_data(targets=((), (0,), (0, 1), (3,)))
    evidence = Evidence.of(data)
    for cause in range(4):
        for effect in range(4):
            if cause == effect:
                assert evidence.rows[cause, effect] == evidence.orientation_rows[cause, effect] == 0
                continue
            informing = [regime for regime in data.interventional if effect not in regime.targets]
            adjacent = [r for r in data.interventional if (cause in r.targets) != (effect in r.targets)]
            assert evidence.regimes[cause, effect] == len(informing)
            assert evidence.rows[cause, effect] == sum(regime.n_rows for regime in informing)
            assert evidence.orientation_rows[cause, effect] == sum(regime.n_rows for regime in adjacent)
            assert evidence.adjacent_intervention[cause, effect] == bool(adjacent)


def test_frame_has_one_row_per_edge_the_surest_first():
    frame = make_result(DAG, data=make_data(targets=((), (0,), (1, 3)))).to_frame()
    assert list(zip(frame["cause"], frame["effect"], strict=True)) == sorted(DAG, key=DAG.get, reverse=True)
    assert list(frame.columns) == [
        "cause",
        "effect",
        "probability",
        "existence",
        "orientation",
        "frequency",
        "source",
        "gain",
        "gain_error",
        "turn",
        "turn_error",
        "slope",
        "learned_probability",
        "regimes",
        "rows",
        "orientation_rows",
        "adjacent_intervention",
    ]
    alpha_bravo = frame.iloc[0]  # both are targets of the only regime that touches either
    assert alpha_bravo["existence"] == pytest.approx(expit(5.0))
    assert alpha_bravo["probability"] == pytest.approx(expit(5.0) * expit(3.0))
    assert not alpha_bravo["adjacent_intervention"]
    assert (alpha_bravo["regimes"], alpha_bravo["rows"], alpha_bravo["orientation_rows"]) == (1, 20, 0)
    assert frame["adjacent_intervention"].tolist() == [False, True, True]


def test_networkx_graph():
    graph = make_result(DAG).to_networkx()
    assert tuple(graph.nodes) == NAMES
    assert set(graph.edges) == set(DAG)
    assert graph.edges["alpha", "bravo"]["orientation"] == pytest.approx(expit(3.0))
    assert graph.edges["alpha", "bravo"]["rows"] == 50  # do(delta) and do(alpha)
    json.dumps(dict(graph.edges["alpha", "bravo"]))  # plain numbers


def test_a_graph_without_edges():
    result = make_result({})
    assert result.to_frame().empty
    assert tuple(result.to_networkx().nodes) == NAMES
    assert repr(result) == "Result(4 variables, 0 edges)"


def test_save_and_load(tmp_path):
    edges = {("alpha", "bravo"): 1.0 / 3.0, ("bravo", "charlie"): 2.0, ("charlie", "alpha"): 0.5}
    before = make_result(edges, knowledge=Knowledge(roots=["delta"]))
    before.save(tmp_path / "a" / "b")
    after = Result.load(tmp_path / "a" / "b")
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "edges.csv",
        "graph.json",
        "history.csv",
        "parameters.npz",
    ]
    for key in ("adjacency", "adjacency_raw", "gamma", "theta", "edge_probability", "edge_epochs"):
        assert np.array_equal(getattr(before, key), getattr(after, key))
        assert getattr(before, key).dtype == getattr(after, key).dtype
    for key in ("variables", "order", "order_report", "settings", "seed", "seconds", "version"):
        assert getattr(before, key) == getattr(after, key)
    assert after.knowledge["roots"] == ["delta"]
    pd.testing.assert_frame_equal(before.history, after.history, check_exact=True)
    pd.testing.assert_frame_equal(before.to_frame(), after.to_frame(), check_exact=True)
    assert repr(before) == repr(after)


def test_what_the_files_hold(tmp_path):
    result = make_result(DAG)
    result.save(tmp_path)
    content = json.loads((tmp_path / "graph.json").read_text())
    assert content["variables"] == list(NAMES)
    assert content["adjacency"] == result.adjacency.tolist()
    assert content["adjacency_raw"] == result.adjacency_raw.tolist()
    assert content["edge_probability"] == result.edge_probability.tolist()
    assert content["order"] == list(result.order)
    assert content["settings"]["sparsity"] == 0.01
    assert content["seconds"] == result.seconds > 1.5  # with the order step
    names, adjacency = read_graph(tmp_path / "graph.json")
    assert names == NAMES
    assert np.array_equal(adjacency, result.adjacency)
    edges = pd.read_csv(tmp_path / "edges.csv", float_precision="round_trip")
    pd.testing.assert_frame_equal(edges, result.to_frame(), check_exact=True)
    assert pd.read_csv(tmp_path / "history.csv")["held_out_loss"].tolist() == [1 / 3]
    with np.load(tmp_path / "parameters.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"gamma", "theta", "regimes", "rows", "orientation_rows", "edge_epochs"}


def test_a_result_is_replaced_only_when_allowed(tmp_path):
    make_result(DAG).save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(EncoError, match="holds a result already: choose another folder or allow overwriting"):
        make_result({}).save(tmp_path)
    assert Result.load(tmp_path).n_edges == 3
    make_result({}).save(tmp_path, overwrite=True)
    assert Result.load(tmp_path).n_edges == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_failure_while_replacing_leaves_the_old_result(tmp_path, monkeypatch):
    make_result(DAG).save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full_disk(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full_disk)
    with pytest.raises(EncoError, match=r"cannot write .*edges.csv: No space left on device"):
        make_result({}).save(tmp_path, overwrite=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "result").write_text("")
    with pytest.raises(EncoError, match="cannot write"):
        make_result(DAG).save(tmp_path / "result")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("graph.json", None, "graph.json: there is no such file"),
        ("graph.json", b"{", "graph.json: this is not JSON"),
        ("graph.json", b"[]", "graph.json: the key 'variables' is missing"),
        ("graph.json", b'{"variables": []}', "graph.json: the key 'adjacency' is missing"),
        ("parameters.npz", None, "parameters.npz: there is no such file"),
        ("parameters.npz", b"broken", "parameters.npz: this is not a readable npz file"),
        ("history.csv", None, "history.csv: there is no such file"),
        ("history.csv", b"", "history.csv: this is not a table"),
        ("history.csv", b"a\n\xff\n", "history.csv: this is not a table"),
    ],
)
def test_damaged_folders(tmp_path, name, content, message):
    make_result(DAG).save(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        Result.load(tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize("adjacency", [[[0, 1], [0, 0]], [[0, 1]], "high", [[0, 2, 0, 0]] * 4, [[0.0] * 4] * 4])
def test_a_matrix_that_does_not_fit(tmp_path, adjacency):
    make_result(DAG).save(tmp_path)
    content = json.loads((tmp_path / "graph.json").read_text())
    (tmp_path / "graph.json").write_text(json.dumps({**content, "adjacency": adjacency}))
    with pytest.raises(
        FileFormatError, match=r"'adjacency' must be a matrix with one row and column per variable \(4\)"
    ):
        Result.load(tmp_path)


# Edges after each epoch


def test_the_edges_of_every_epoch_are_those_of_the_history(tmp_path):
    rng = np.random.default_rng(0)
    data = simulate.categorical("chain", 5, rng, categories=3).dataset(300, 40, rng=rng)
    fit = Discovery(data, settings=Settings(max_epochs=10, settled_epochs=10, fit_steps=20, graph_steps=10))
    fit.run()
    result = conclude(fit, data, seconds=0.0, seed=0)
    assert len(result.history) == 10  # more than the bits of a byte
    result.save(tmp_path)
    for each in (result, Result.load(tmp_path)):
        after = [each.edges_after(epoch) for epoch in range(1, 11)]
        assert [int(edges.sum()) for edges in after] == result.history["edges"].tolist()
        assert np.array_equal(after[-1], result.adjacency_raw == 1)
    for epoch in (0, 11):
        with pytest.raises(SettingsError, match=f"after epoch {epoch}"):
            result.edges_after(epoch)


@pytest.mark.parametrize("damaged", [np.zeros((2, 3, 3)), np.zeros((0, 3, 3), np.uint8), np.zeros((1, 3, 2), np.uint8)])
def test_a_damaged_record_of_epochs(tmp_path, damaged):
    result = small_result()
    result.save(tmp_path)
    with np.load(tmp_path / "parameters.npz") as arrays:
        np.savez(tmp_path / "parameters.npz", **{**arrays, "edge_epochs": damaged})
    with pytest.raises(FileFormatError, match="edge_epochs"):
        Result.load(tmp_path)
