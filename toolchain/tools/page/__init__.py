"""One self-contained HTML page of programs at each stage, their lines linked to lines of Python.

`content.py` holds the values that a caller gives: `jxc explain` gives a `PageEntry` for each
program that JAX compiled, `jxc diff` a `PageComparison`. `stages.py` reads the texts of programs,
`links.py` numbers the Python lines behind them, `changes.py` finds what each pass changed,
`payload.py` puts these together as JSON, and `write.py` fills in the templates.
"""

from .content import (
    ComparedNumber,
    ComparedSide,
    DifferingLine,
    PageComparison,
    PageEntry,
    ProgramTexts,
)
from .write import WrittenPage, require_packages, write_comparison_page, write_page

__all__ = [
    "ComparedNumber",
    "ComparedSide",
    "DifferingLine",
    "PageComparison",
    "PageEntry",
    "ProgramTexts",
    "WrittenPage",
    "require_packages",
    "write_comparison_page",
    "write_page",
]
