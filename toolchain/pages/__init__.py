"""The parts of self-contained HTML pages: programs at each stage, lines linked to lines of Python.

`explain`, `diff` and `profile` write pages, and `explore` serves one. `stages.py` reads the texts
of programs, `links.py` numbers the Python lines behind them, `changes.py` finds what each pass
changed, `payload.py` puts these together as JSON, and `rendering.py` fills in the templates.
"""

from .rendering import PackedTexts, require_packages, template, ticks, write

__all__ = ["PackedTexts", "require_packages", "template", "ticks", "write"]
