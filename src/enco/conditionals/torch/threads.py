"""PyTorch on one thread."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_thread_each"]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """PyTorch itself uses one thread: how its sums round would depend on the number of threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
