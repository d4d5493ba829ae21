"""Tables of a comparison as LaTeX, with the rules of booktabs."""

from __future__ import annotations

import re

from pauc_lightning.experiments.table import (
    AHEAD,
    BEHIND,
    COLLAPSED,
    FAILED,
    KEPT_START,
    NO_CHOICE,
    Entry,
    Table,
)

PREAMBLE = r"% Needs \usepackage{booktabs,amssymb}."
_RANKED = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "−": "$-$",
    AHEAD: r"$\blacktriangle$",
    BEHIND: r"$\blacktriangledown$",
    COLLAPSED: r"\dag{}",
    FAILED: r"\ddag{}",
    KEPT_START: r"$^\circ$",
    NO_CHOICE: r"\S{}",
}


def as_latex(table: Table, caption: str = "") -> str:
    r"""Write a table that stands for itself: ``\input`` it anywhere in the text."""
    header, rows = table.header(), table.rows()
    notes = [*table.legend(), *_ranks(table), *table.footnotes()]
    lines = [
        r"\begin{table}[t]",
        r"  \centering",
        *([f"  \\caption{{{escape(caption)}}}"] if caption else []),
        f"  \\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"    \toprule",
        f"    {' & '.join(map(escape, header))} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(map(_cell, row))} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        *([r"", r"  \smallskip", rf"  {{\footnotesize {' '.join(map(_note, notes))}}}"] if notes else []),
        r"\end{table}",
    ]
    return "\n".join(lines)


def escape(text: str) -> str:
    r"""Write a text so that LaTeX prints it.

    Example:
        >>> print(escape("upauci_slow: 50 % ≤ β"))
        upauci\_slow: 50 \% $\le$ $\beta$
    """
    greek = {"α": r"$\alpha$", "β": r"$\beta$", "κ": r"$\kappa$", "ω": r"$\omega$"}
    return "".join({**_SIGNS, **greek}.get(sign, sign) for sign in text)


def _cell(entry: Entry) -> str:
    # A minus sign is no hyphen.
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", entry.text)
    return _RANKED[entry.rank] % escape("--" if text == "-" else text)


def _note(line: str) -> str:
    return escape(line.strip().removeprefix("- "))


def _ranks(table: Table) -> list[str]:
    return ["The best value of a column is bold, the second best underlined."] if table.is_ranked else []
