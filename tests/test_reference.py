"""The pages made from the code are up to date, complete, and the code keeps what they promise."""

import ast
import importlib.util
from pathlib import Path

import pytest

import enco

ROOT = Path(__file__).parents[1]
SOURCE = Path(enco.__file__).parent


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_up_to_date(generate):
    assert generate.stale() == [], "run make reference"


def test_the_table_of_errors_has_what_a_user_meets(generate):
    page = generate.errors_page()
    for words in ("there is no such file", "setting &lt;name> must be positive", "pip install 'enco\\[torch]'"):
        assert words in page


def test_templates(generate):
    tree = ast.parse(
        "raise DataError(f'{path}: row {row + 1} of {len(rows)}' ': mend it')\n"
        "raise DataError(f'{path}: {error}')\nraise KeyError('no')\nraise GraphError(str(error))\n"
    )
    assert list(generate.messages(tree)) == [("DataError", "<path>: row <...> of <number>: mend it")]


def test_every_command_is_described(generate):
    page = generate.cli_page()
    for command in ("fit", "check", "evaluate", "simulate", "describe", "demo", "bench", "bench speed", "version"):
        assert f"\n## enco {command}\n" in page


def test_nothing_is_pickled():
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
    for file in SOURCE.rglob("*.py"):
        assert "joblib.load" not in file.read_text(encoding="utf-8"), file
        assert "joblib.dump" not in file.read_text(encoding="utf-8"), file
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not forbidden & {name.split(".")[0] for name in names}, file
            if isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "weights_only"):
                assert isinstance(node.value, ast.Constant), file
                assert node.value.value is (node.arg == "weights_only"), file
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("torch.load", "torch.save", "np.load"):
                raise AssertionError(f"{file} uses {ast.unparse(node)}")
