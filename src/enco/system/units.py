"""Bytes, seconds and long values for people."""

__all__ = ["in_bytes", "in_short", "in_time"]

LONGEST = 60  # characters


def in_bytes(number: int) -> str:
    """Write a number of bytes for people.

    Examples
    --------
    >>> in_bytes(312_345_678), in_bytes(12_345_678_901), in_bytes(10**400)
    ('312 MB', '12.3 GB', '10^12 GB or more')
    """
    if number > 10**21:  # a float may not hold it
        return "10^12 GB or more"
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


def in_short(value: object) -> str:
    """Write any value for people, a very long one only in part.

    Examples
    --------
    >>> in_short("abc"), in_short(12345), in_short("a" * 100)[-25:]
    ("'abc'", '12,345', 'aaaaa... (102 characters)')
    >>> in_short(10**5000)
    'a number of thousands of digits'
    """
    try:
        text = f"{value:,}" if type(value) is int else repr(value)
    except ValueError:  # which Python does not write
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"
