"""Tables of results as CSV files that a spreadsheet shows instead of running.

A spreadsheet takes a cell for a formula if it begins with one of a few characters, and a variable may well be called
`=cmd|'/C calc'!A0`. In tables of results such text gets an apostrophe in front, which spreadsheets know as the mark of
plain text; so does text that begins with an apostrophe itself, so that exactly one is taken off again in reading.
Numbers stay as they are. Data tables (`write_csv`) are not changed: other programs read them for their values.
"""

import pandas as pd

__all__ = ["as_plain_text", "from_plain_text", "table_as_csv"]

_MARK = "'"
# Spreadsheets of East Asian languages take the wide forms of the four signs as well.
_RUN = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_MARKED = _RUN | {_MARK}


def as_plain_text(text: str) -> str:
    """Put an apostrophe in front of what a spreadsheet would run, and of an apostrophe.

    Examples
    --------
    >>> [as_plain_text(text) for text in ("gene", "=1+1", "'quoted'")]
    ['gene', "'=1+1", "''quoted'"]
    """
    return _MARK + text if text[:1] in _MARKED else text


def from_plain_text(cell: str) -> str:
    """Take the apostrophe off that `as_plain_text` has put in front; other text stays as it is.

    Examples
    --------
    >>> [from_plain_text(cell) for cell in ("gene", "'=1+1", "''quoted'", "'tis")]
    ['gene', '=1+1', "'quoted'", "'tis"]
    """
    return cell[1:] if cell[:1] == _MARK and cell[1:2] in _MARKED else cell


def table_as_csv(table: pd.DataFrame) -> str:
    r"""Write a table as the text of a CSV file; its text cells pass `as_plain_text`.

    Examples
    --------
    >>> table_as_csv(pd.DataFrame({"cause": ["A", "-A"], "gain": [-1.5, 2.0]}))
    "cause,gain\nA,-1.5\n'-A,2.0\n"
    """
    texts = {str(name): column for name, column in table.items() if not pd.api.types.is_numeric_dtype(column)}
    shown = table.assign(
        **{
            name: [as_plain_text(cell) if isinstance(cell, str) else cell for cell in cells]
            for name, cells in texts.items()
        }
    )
    # The writer puts quotes only around the characters that end its lines.
    breaks = any("\r" in cell for cells in texts.values() for cell in cells if isinstance(cell, str))
    return shown.to_csv(index=False, lineterminator="\r\n" if breaks else "\n")
