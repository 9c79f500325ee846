"""Syntax highlighting: Python by pygments, the compiler's languages by rules for the page's script.

Python sources are highlighted here, once a page. The texts of programs are much longer; the script
highlights each of their lines when it comes into view, by the rules of `display.syntax`.
"""

from __future__ import annotations

import html
import linecache
from collections.abc import Mapping
from itertools import groupby

from ..source import short_path
from .links import PythonFiles, owner_on_page

MAX_CHARACTERS = 400_000  # of one Python file

_CLASSES = (  # by the first prefix of a pygments token
    ("Comment", "c"),
    ("Literal.String", "s"),
    ("Literal.Number", "m"),
    ("Keyword", "k"),
    ("Operator.Word", "k"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Decorator", "o"),
)


def sources_as_json(
    files: PythonFiles, texts: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """The name, path, owner and highlighted text of each file, by its number.

    A file that cannot be read, that has more than 400,000 characters, or that only outer frames lie
    in, has no text. With `texts`, by path, no file is read.
    """
    found = []
    for number, path in enumerate(files.paths):
        entry = {"name": short_name(path), "path": path, "owner": owner_on_page(path)}
        text = ""
        if texts is not None:
            text = texts.get(path, "")
        elif number in files.reached:
            linecache.checkcache(path)
            text = "".join(linecache.getlines(path))
        if 0 < len(text) <= MAX_CHARACTERS:
            entry["html"] = "\n".join(python_lines(text.rstrip("\n")))
        found.append(entry)
    return found


def short_name(path: str) -> str:
    """A path relative to the current directory, or to the folder where packages are installed."""
    for folder in ("site-packages", "dist-packages"):
        _, found, rest = path.replace("\\", "/").rpartition(f"/{folder}/")
        if found:
            return rest
    return short_path(path)


def python_lines(text: str) -> list[str]:
    """Python source as HTML, one string per line; highlighted tokens are `<i class=k>`."""
    from pygments.lexers import PythonLexer

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    tokens = ((_class_of(str(kind)), value) for kind, value in lexer.get_tokens(text))
    lines = [""]
    for name, group in groupby(tokens, key=lambda token: token[0]):
        # A string in triple quotes can have several lines.
        for number, part in enumerate("".join(value for _, value in group).split("\n")):
            escaped = html.escape(part, quote=False)
            lines += [""] * bool(number)
            lines[-1] += f"<i class={name}>{escaped}</i>" if name and part.strip() else escaped
    return lines


def _class_of(token: str) -> str:
    name = token.removeprefix("Token.")
    return next((short for prefix, short in _CLASSES if name.startswith(prefix)), "")
