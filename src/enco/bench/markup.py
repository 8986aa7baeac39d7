"""Tables as Markdown and as LaTeX."""

from collections.abc import Sequence

__all__ = ["Strong", "latex", "markdown"]


class Strong(str):
    """The text of a cell that is to stand out."""

    __slots__ = ()


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Lay out a Markdown table; the first columns to the left, the others to the right.

    Examples
    --------
    >>> print(markdown(["what", "figure"], [["toggles", Strong("7")]]))
    | what | figure |
    |---|---:|
    | toggles | **7** |
    """
    rule = "|" + "---|" * left + "---:|" * (len(header) - left)
    return "\n".join([_line(header), rule, *map(_line, rows)])


def latex(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    r"""Lay out a LaTeX table for the package booktabs; the first columns to the left, the others centred.

    Examples
    --------
    >>> print(latex(["method", "chain"], [["a & b", Strong("0.5 ± 0.7")]]))
    \begin{tabular}{lc}
    \toprule
    method & chain \\
    \midrule
    a \& b & \textbf{0.5 $\pm$ 0.7} \\
    \bottomrule
    \end{tabular}
    """
    shape = "l" * left + "c" * (len(header) - left)
    lines = [rf"{' & '.join(map(_latex_cell, cells))} \\" for cells in (header, *rows)]
    opening, closing = [rf"\begin{{tabular}}{{{shape}}}", r"\toprule"], [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*opening, lines[0], r"\midrule", *lines[1:], *closing])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(f'**{cell}**' if isinstance(cell, Strong) else cell for cell in cells)} |"


def _latex_cell(cell: str) -> str:
    text = cell
    for sign in "&%_#":
        text = text.replace(sign, f"\\{sign}")
    text = text.replace("±", r"$\pm$")
    return rf"\textbf{{{text}}}" if isinstance(cell, Strong) else text
