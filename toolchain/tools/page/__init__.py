"""One self-contained HTML page of programs at each stage, their lines linked to lines of Python.

`jxc explain` writes a page of the programs that JAX compiled, `jxc diff` one of two programs.
`stages.py` reads the texts of programs, `links.py` numbers the Python lines behind them,
`changes.py` finds what each pass changed, `payload.py` puts these together as JSON, and `write.py`
fills in the templates.
"""

from .write import require_packages, write_comparison_page, write_page

__all__ = ["require_packages", "write_comparison_page", "write_page"]
