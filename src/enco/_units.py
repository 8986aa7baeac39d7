"""Bytes and seconds for people."""

__all__ = ["in_bytes", "in_time"]


def in_bytes(number: int) -> str:
    """Write a number of bytes for people.

    Examples
    --------
    >>> in_bytes(312_345_678), in_bytes(12_345_678_901)
    ('312 MB', '12.3 GB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"


def in_time(seconds: float) -> str:
    """Write a duration for people.

    Examples
    --------
    >>> in_time(0.26), in_time(12.34), in_time(200.0), in_time(9000.0)
    ('0.3 s', '12 s', '3 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
