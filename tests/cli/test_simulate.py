import json

import numpy as np
import pytest

from enco.cli import main
from enco.data import InterventionalData
from enco.graphs import is_acyclic
from enco.io import read_data, read_graph

SMALL = ["--rows", "50", "--interventional-rows", "5"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def truth_beside(path):
    return json.loads(path.with_suffix(".graph.json").read_text())


def test_npz_holds_data_and_truth(folder, capsys):
    assert main(["simulate", "-n", "6", "--structure", "chain", "--out", "a.npz", *SMALL]) == 0
    data = InterventionalData.from_npz("a.npz")
    names, adjacency = read_graph("a.npz")
    assert (data.n_variables, data.observational.n_rows, len(data.interventional)) == (6, 50, 6)
    assert {regime.n_rows for regime in data.interventional} == {5}
    assert names == data.names == ("X1", "X2", "X3", "X4", "X5", "X6")
    assert adjacency.sum() == 5
    assert is_acyclic(adjacency)
    assert not list(folder.glob("*.json"))
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "graph  6 variables, 5 edges",
        "rows   50 observational, 6 interventions with 5 rows each",
        "data   a.npz",
        "truth  a.npz (adj_matrix)",
    ]
    assert printed.err == ""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_have_the_truth_beside_them(folder, suffix):
    assert main(["simulate", "-n", "7", "--latents", "2", "--out", f"a.{suffix}", *SMALL]) == 0
    data = read_data(f"a.{suffix}")
    truth = truth_beside(folder / f"a.{suffix}")
    assert tuple(truth["variables"]) == data.names
    assert is_acyclic(truth["adjacency"])
    assert len(truth["confounded_pairs"]) == 2
    assert all(set(pair) <= set(data.names) for pair in truth["confounded_pairs"])


def test_every_format_gets_the_same_data_and_graph(folder):
    options = ["simulate", "-n", "5", "--latents", "1", "--seed", "4", *SMALL]
    for name in ("a.npz", "a.csv", "b.parquet"):
        assert main([*options, "--out", name]) == 0
    assert read_data("a.npz") == read_data("a.csv") == read_data("b.parquet")
    _, adjacency = read_graph("a.npz")
    truth = truth_beside(folder / "a.csv")
    assert adjacency.astype(int).tolist() == truth["adjacency"]
    pairs = np.load("a.npz")["confounded_pairs"]
    assert [[f"X{one + 1}", f"X{other + 1}"] for one, other in pairs] == truth["confounded_pairs"]


def test_same_seed_same_bytes_other_seed_other_bytes(folder):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert main(["simulate", "-n", "5", "--seed", str(seed), "--out", f"{name}.npz", *SMALL]) == 0
    a, b, c = ((folder / f"{name}.npz").read_bytes() for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--kind", "categorical", "--mechanism", "product", "--categories", "3"], {"categorical"}),
        (["--kind", "continuous", "--mechanism", "additive"], {"continuous"}),
        (["--kind", "mixed", "--categories", "4"], {"categorical", "continuous"}),
    ],
)
def test_kinds_and_mechanisms(folder, options, kinds):
    assert main(["simulate", "-n", "6", "--out", "a.npz", *options, *SMALL]) == 0
    data = read_data("a.npz")
    assert set(data.kinds) == kinds
    if "--categories" in options:
        assert data.n_levels.max() == int(options[-1])


def test_options_of_the_random_structure(folder):
    command = ["simulate", "-n", "20", "--edge-probability", "1", "--max-parents", "2", "--out", "a.npz"]
    assert main([*command, *SMALL]) == 0
    _, adjacency = read_graph("a.npz")
    assert adjacency.sum(axis=0).max() == 2
    assert adjacency.sum() == 2 * 20 - 3


def test_known_networks(folder):
    assert main(["simulate", "--bif", "asia", "--out", "a.npz", *SMALL]) == 0
    data, (_, adjacency) = read_data("a.npz"), read_graph("a.npz")
    assert set(data.names) == {"asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"}
    assert adjacency[data.position("smoke"), data.position("lung")]
    assert adjacency.sum() == 8


def test_no_interventions(folder, capsys):
    assert main(["simulate", "-n", "4", "--interventional-rows", "0", "--out", "a.npz"]) == 0
    assert read_data("a.npz").interventional == ()
    assert "no interventions" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a.npz", "a.csv"])
def test_existing_files_are_replaced_only_by_force(folder, capsys, name):
    command = ["simulate", "-n", "4", "--out", name, *SMALL]
    assert main(command) == 0
    before = (folder / name).read_bytes()
    assert main([*command, "--seed", "9"]) == 2
    assert f"{name} exists already" in capsys.readouterr().err
    assert (folder / name).read_bytes() == before
    assert main([*command, "--seed", "9", "--force"]) == 0
    assert (folder / name).read_bytes() != before


def test_an_existing_truth_is_not_replaced_either(folder, capsys):
    (folder / "a.graph.json").write_text("mine")
    assert main(["simulate", "-n", "4", "--out", "a.csv", *SMALL]) == 2
    assert "a.graph.json exists already" in capsys.readouterr().err
    assert (folder / "a.graph.json").read_text() == "mine"
    assert not (folder / "a.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--structure", "spiral"], "unknown structure 'spiral'"),
        (["--kind", "count"], "unknown kind 'count'"),
        (["--mechanism", "magic"], "unknown mechanism 'magic'"),
        (["--kind", "continuous", "--categories", "3"], "--categories does not apply to continuous"),
        (["--categories", "1"], "from 2 to 65,535"),
        (["--edge-probability", "1.5"], "edge_probability"),
        (["--structure", "chain", "--max-parents", "2"], "max_parents"),
        (["-n", "0"], "at least 1"),
        (["-n", "1"], "at least 2"),
        (["--latents", "-1"], "latent"),
        (["--bif", "atlantis"], "unknown network 'atlantis'"),
        (["--bif", "missing.bif"], "missing.bif"),
        (["--bif", "asia", "--kind", "mixed"], "--kind does not apply to --bif"),
        (["--bif", "asia", "-n", "5"], "--variables does not apply to --bif"),
        (["--rows", "0"], "--rows"),
        (["--rows", "many"], "--rows"),
        (["--interventional-rows", "-1"], "--interventional-rows"),
        (["--seed", "-1"], "--seed"),
        (["--effect", "hard"], "unknown effect 'hard'; choose from perfect, soft, shift"),
        (["--hold", "2"], "hold must be between 0 and 1, got 2"),
        (["--failed", "nan"], "failed must be between 0 and 1"),
        (["--off-target", "-1"], "off_target must be between 0 and 1"),
        (["--regimes", "0"], "regimes must be at least 1"),
        (["--targets-per-regime", "25"], "targets_per_regime must be below the number of variables, 25, got 25"),
        (["--batches", "-1"], "batches must be at least 0"),
        (["--batch-offset", "inf"], "batch_offset must be a finite number from 0 on"),
        (["--batch-scale", "0.5"], "batch_scale must be a finite number from 1 on"),
        (["--effect", "soft", "--bif", "asia", "-n", "5"], "--variables does not apply to --bif"),
        (["--size", "5"], "No such option"),
        (["--out", "a.txt"], "must end in .npz, .csv or .parquet"),
        (["--out", "nowhere/a.npz"], "the folder nowhere does not exist"),
    ],
)
def test_mistakes(folder, capsys, options, message):
    assert main(["simulate", "--out", "a.npz", *options]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert list(folder.iterdir()) == []


def test_malformed_network_file(folder, capsys):
    (folder / "broken.bif").write_text("network x {\n")
    assert main(["simulate", "--bif", "broken.bif", "--out", "a.npz"]) == 2
    assert "broken.bif" in capsys.readouterr().err


def test_missing_out(capsys):
    assert main(["simulate"]) == 2
    assert capsys.readouterr().err == "error: Missing option '--out' / '-o'. (see enco simulate --help)\n"


def account_beside(path):
    return json.loads(path.with_suffix(".interventions.json").read_text())


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_what_interventions_did_is_written_beside(folder, capsys, suffix):
    options = ["-n", "6", "--effect", "soft", "--failed", "0.5", "--off-target", "0.5", "--hold", "0.6"]
    assert main(["simulate", *options, "--out", f"a.{suffix}", *SMALL]) == 0
    data, account = read_data(f"a.{suffix}"), account_beside(folder / f"a.{suffix}")
    assert account["options"] == {"effect": "soft", "hold": 0.6, "failed": 0.5, "off_target": 0.5}
    assert [entry["regime"] for entry in account["regimes"]] == [data.regime_name(it) for it in data.interventional]
    assert [entry["rows"] for entry in account["regimes"]] == [5] * 6
    assert sorted(entry["share_of_rows"] for entry in account["regimes"]) == [0.0] * 3 + [0.6] * 3
    assert sum(entry["off_target"] is not None for entry in account["regimes"]) == 3
    printed = capsys.readouterr().out.splitlines()
    assert printed[1] == "rows   50 observational, 6 interventions with 5 rows each"
    assert printed[-1] == "       a.interventions.json (what the interventions did)"
    names, adjacency = read_graph("a.npz" if suffix == "npz" else "a.graph.json")
    assert names == data.names
    assert is_acyclic(adjacency)
    assert (folder / "a.graph.json").exists() == (suffix != "npz")


def test_confounded_pairs_are_in_an_npz_file_of_an_experiment_too(folder):
    assert main(["simulate", "-n", "6", "--latents", "1", "--failed", "0.5", "--out", "a.npz", *SMALL]) == 0
    assert np.load("a.npz")["confounded_pairs"].shape == (1, 2)


def test_every_format_gets_the_same_experiment(folder):
    options = [
        "--kind",
        "mixed",
        "-n",
        "5",
        "--effect",
        "shift",
        "--batches",
        "2",
        "--batch-offset",
        "0.5",
        "--context",
    ]
    for name in ("a.npz", "a.csv", "b.parquet"):
        assert main(["simulate", *options, "--out", name, "--force", *SMALL]) == 0
    assert read_data("a.npz") == read_data("a.csv") == read_data("b.parquet")
    assert read_data("a.npz").is_context.tolist() == [False] * 5 + [True]


def test_a_context_column_is_no_part_of_the_true_graph(folder, capsys):
    assert main(["simulate", "-n", "5", "--batch-offset", "0.5", "--context", "--out", "a.npz", *SMALL]) == 0
    data, truth = read_data("a.npz"), truth_beside(folder / "a.npz")
    assert (*truth["variables"], "batch") == data.names
    assert "truth  a.graph.json" in capsys.readouterr().out
    assert "adj_matrix" not in np.load("a.npz")


def test_unknown_targets_are_in_the_account_only(folder):
    options = ["--bif", "asia", "--unknown-targets", "--regimes", "4", "--targets-per-regime", "2"]
    assert main(["simulate", *options, "--out", "a.csv", *SMALL]) == 0
    data, account = read_data("a.csv"), account_beside(folder / "a.csv")
    assert [regime.label for regime in data.interventional] == [f"condition {k}" for k in range(1, 5)]
    assert all(regime.unknown for regime in data.interventional)
    for entry in account["regimes"]:
        assert len(entry["hit"]) == 2
        assert set(entry["hit"]) == set(entry["intended"]) <= set(data.names)


def test_batches_without_interventions(folder, capsys):
    options = ["--interventional-rows", "0", "--batches", "2", "--batch-offset", "1", "--rows", "30", "--context"]
    assert main(["simulate", "-n", "4", *options, "--out", "a.csv"]) == 0
    assert "30 observational, no interventions" in capsys.readouterr().out
    assert account_beside(folder / "a.csv")["regimes"] == []


def test_options_at_their_defaults_change_nothing(folder):
    assert main(["simulate", "-n", "4", "--out", "a.npz", *SMALL]) == 0
    assert main(["simulate", "-n", "4", "--effect", "perfect", "--batches", "0", "--out", "b.npz", *SMALL]) == 0
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert not list(folder.glob("*.json"))


def test_an_existing_account_is_not_replaced(folder, capsys):
    (folder / "a.interventions.json").write_text("mine")
    assert main(["simulate", "-n", "4", "--failed", "0.5", "--out", "a.npz", *SMALL]) == 2
    assert "a.interventions.json exists already" in capsys.readouterr().err
    assert (folder / "a.interventions.json").read_text() == "mine"
    assert not (folder / "a.npz").exists()
