"""PyTorch is an extra: nothing imports it before it is needed, and what is missing is said in one line."""

import subprocess
import sys

import pytest

from enco.conditionals.torch import TorchSettings, requirements
from enco.errors import EncoError, MissingPackageError, SettingsError


def test_importing_does_not_import_pytorch():
    code = (
        "import sys, enco, enco.gradients, enco.conditionals.torch; "
        "enco.conditionals.torch.TorchSettings(density='spline'); "
        "sys.exit(bool({'torch', 'zuko'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(("density", "package"), [("gaussian", "torch"), ("dsf", "torch"), ("spline", "zuko")])
def test_a_missing_package(make_model, make_data, monkeypatch, density, package):
    monkeypatch.setattr(requirements, "find_spec", lambda name: None if name == package else name)
    with pytest.raises(
        MissingPackageError, match=rf"needs the package '{package}': pip install 'enco\[torch\]'"
    ) as caught:
        make_model(make_data(), density=density)
    assert "\n" not in str(caught.value)


def test_zuko_is_needed_for_splines_only(make_model, make_data, monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda name: None if name == "zuko" else name)
    make_model(make_data(), density="dsf")


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_a_device_that_is_not_there(make_model, make_data, monkeypatch, device):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(
        SettingsError, match=f"setting device is '{device}', but PyTorch finds 0 CUDA devices"
    ) as caught:
        make_model(make_data(), device=device)
    assert "use device='cpu'" in str(caught.value)


@pytest.mark.parametrize("device", ["abacus", "meta", None])
def test_a_device_that_is_none(make_model, make_data, device):
    with pytest.raises(SettingsError, match="setting device is"):
        make_model(make_data(), device=device)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 0),
        ("layers", 1.5),
        ("batch", True),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("weight_decay", -1e-3),
        ("held_out", 0.5),
        ("check_every", -1),
        ("patience", "4"),
        ("density", "cauchy"),
        ("network", "mlp"),
    ],
)
def test_settings_out_of_range(name, value):
    with pytest.raises(EncoError, match=f"setting {name} must be"):
        TorchSettings(**{name: value})
