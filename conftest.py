"""What all tests rely on, those in docstrings among them."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def heed_ctrl_c():
    """Shells make processes in the background ignore Ctrl-C, and these all that they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
