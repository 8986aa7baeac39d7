"""Are PyTorch, zuko and the device there? If not, one line that says what to do."""

from importlib.util import find_spec
from typing import Any

from enco.errors import MissingPackageError, SettingsError

__all__ = ["check_packages", "find_device"]


def check_packages(density: str) -> None:
    """Raise `MissingPackageError` unless the packages that a density needs are installed.

    Examples
    --------
    >>> check_packages("gaussian")
    """
    for package in ("torch", "zuko") if density == "spline" else ("torch",):
        if find_spec(package) is None:
            raise MissingPackageError(package, "torch", "the PyTorch engine")


def find_device(name: str) -> Any:
    """Return the `torch.device` of that name; `SettingsError` if this machine does not have it.

    Examples
    --------
    >>> find_device("cpu")
    device(type='cpu')
    """
    import torch

    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise SettingsError(f"setting device is {name!r}, which PyTorch does not know: use 'cpu' or 'cuda'") from error
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise SettingsError(
                f"setting device is {name!r}, but PyTorch finds {count} CUDA devices here: use device='cpu', "
                "or install a PyTorch built for your GPU (pytorch.org)"
            )
    elif device.type != "cpu":
        raise SettingsError(f"setting device is {name!r}: only 'cpu' and 'cuda' are supported")
    return device
