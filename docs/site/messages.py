"""The messages of all errors that jxc reports to users, read from its source code.

Each place that makes an error of the `JxcError` family gives one message, in which `…` stands for
what is filled in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent / "toolchain"
BASES = ("JxcError", "UsageError", "MissingTargetError")
_LEAST = 8  # letters: what is shorter was made elsewhere


class Message(NamedTuple):
    """A message in the source code: its text, the class of its error, and the module."""

    text: str
    error: str
    module: str

    @property
    def part(self) -> str:
        """The part of jxc: the package, or the feature in `jxc.tools` and `jxc.cli`."""
        names = self.module.split(".")
        return ".".join(names[: 3 if names[1] in ("tools", "cli") else 2])


def messages() -> list[Message]:
    """Every message, in the order of the files."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
    family = _family(trees.values())
    found = []
    for path, tree in trees.items():
        module = ".".join(("jxc", *path.relative_to(ROOT).with_suffix("").parts))
        found += [Message(text, error, module) for error, text in _raised(tree, family)]
    return list(dict.fromkeys(found))


def texts() -> set[str]:
    """Every text in the source code, messages or not."""
    nodes = (node for path in ROOT.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())))
    kinds = ast.Constant | ast.JoinedStr | ast.BinOp
    return {" ".join(_template(node).split()) for node in nodes if isinstance(node, kinds)}


def _family(trees: Iterator[ast.Module]) -> set[str]:
    """The names of the classes of errors, found by their bases."""
    family, classes = (
        set(BASES),
        [n for t in trees for n in ast.walk(t) if isinstance(n, ast.ClassDef)],
    )
    while new := {c.name for c in classes if {ast.unparse(b) for b in c.bases} & family} - family:
        family |= new
    return family


def _raised(tree: ast.Module, family: set[str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in family:
            text = " ".join(_template(node.args[0]).split())
            if len(re.findall(r"[a-z]", text)) >= _LEAST:
                yield ast.unparse(node.func), text


def _template(node: ast.expr) -> str:
    """A string expression with `…` for what is known only when it runs."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_template, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _template(left) + _template(right)
        case ast.IfExp(body=body):
            return _template(body)
    return "…"
