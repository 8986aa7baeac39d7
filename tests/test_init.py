"""The public names: all there, found by completion, and imported only when used."""

import subprocess
import sys

import pytest

import enco


@pytest.mark.parametrize("name", enco.__all__)
def test_public_names_exist(name):
    assert getattr(enco, name) is not None
    assert name in dir(enco)


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'enco' has no attribute 'Encore'"):
        enco.Encore  # noqa: B018


def test_import_is_light():
    code = "import sys, enco; sys.exit(bool({'numpy', 'numba', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
