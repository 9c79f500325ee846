"""Check that this jax has the private names that jxc uses, without importing jxc.

Each room of `toolchain/` uses private names of jax and jaxlib in its `_private.py` only. They are
read from the syntax of that file, so that no list can be out of date:

- `from jax._src import compiler as _compiler`: the module and the name;
- `_compiler.backend_compile_and_load`: the attributes of what was imported;
- `(_pjit, "_trace_for_jit")`: a name in a string beside its module, as in tables of functions;
- `lowered._lowering`, `getattr(traced, "_consts", ())`: private attributes of values. Some value
  of `samples` must have them: a traced, lowered, compiled and exported function and the like.

    python scripts/release/private_names.py toolchain

prints a line `jax._src.compiler.NAME: missing` for each that is not there, with the file that uses
it, and exits with 1 if there is one. `--list` prints all names.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VALUE = "(a value of jax)"
"""Stands for the module of an attribute of some value, such as a `jax.stages.Lowered`."""


@dataclass(frozen=True, order=True)
class Name:
    """A name of jax or jaxlib that a file uses.

    Attributes:
        module: the module, or `VALUE`.
        path: the name in it with its attributes, such as `UnloadedMeshExecutable.load`.
        where: the file and line of the first use.
    """

    module: str
    path: str
    where: str

    def __str__(self) -> str:
        return f"{self.module}.{self.path}"


def names_used(file: Path) -> list[Name]:
    """The names of jax and jaxlib in a `_private.py`, each once."""
    tree = ast.parse(file.read_text(), str(file))
    aliases: dict[str, tuple[str, str]] = {}
    found: dict[tuple[str, str], Name] = {}
    for node in ast.walk(tree):
        for local, module, path in _imported(node):
            aliases[local] = module, path
            if path:
                found.setdefault((module, path), Name(module, path, _where(file, node)))
    for node in ast.walk(tree):
        for root, path in _uses(node):
            module, start = aliases.get(root, (VALUE, ""))
            if module == VALUE and not _is_private(path.split(".")[0]):
                continue
            whole = f"{start}.{path}" if start else path
            found.setdefault((module, whole), Name(module, whole, _where(file, node)))
    return sorted(found.values())


def _where(file: Path, node: ast.AST) -> str:
    return f"{file}:{getattr(node, 'lineno', 0)}"


def _imported(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """The local name, module and name in the module of each import of jax or jaxlib."""
    if isinstance(node, ast.Import):
        for each in node.names:
            if _is_jax(each.name):
                whole = each.name if each.asname else each.name.partition(".")[0]
                yield each.asname or whole, whole, ""
    if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_jax(node.module or ""):
        for each in node.names:
            yield each.asname or each.name, node.module or "", each.name


def _uses(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The variable and the attributes that a node reads, as ("_compiler", "a.b")."""
    match node:
        case ast.Attribute():
            parts: list[str] = []
            value: ast.expr = node
            while isinstance(value, ast.Attribute):
                parts.insert(0, value.attr)
                value = value.value
            yield value.id if isinstance(value, ast.Name) else "", ".".join(parts)
        case ast.Tuple(elts=[ast.Name(id=root) | ast.Attribute(value=ast.Name(id=root)), last]):
            first = node.elts[0]
            prefix = f"{first.attr}." if isinstance(first, ast.Attribute) else ""
            if isinstance(last, ast.Constant) and isinstance(last.value, str):
                yield root, prefix + last.value
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(name)), *_]):
            yield value.id if isinstance(value, ast.Name) else "", name


def _is_jax(module: str) -> bool:
    return module.partition(".")[0] in ("jax", "jaxlib")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def missing(names: list[Name]) -> list[Name]:
    """The names that this jax does not have, without the attributes of other missing names."""
    values = samples()
    absent: list[Name] = []
    for name in names:  # sorted: a name comes before its attributes
        is_inside = any(f"{name}.".startswith(f"{each}.") for each in absent)
        if not is_inside and not _exists(name, values):
            absent.append(name)
    return absent


def _exists(name: Name, values: list[Any]) -> bool:
    if name.module == VALUE:
        return any(_has(value, name.path) for value in values)
    try:
        module = importlib.import_module(name.module)
    except ImportError:
        return False
    if _has(module, name.path):
        return True
    try:  # a submodule that nothing has imported yet
        importlib.import_module(f"{name.module}.{name.path}")
    except ImportError:
        return False
    return True


def _has(value: Any, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def samples() -> list[Any]:
    """Values of the types whose private attributes jxc reads."""
    import jax
    import jax.export

    jitted = jax.jit(lambda x: x + 1)
    traced = jitted.trace(1.0)
    lowered = traced.lower()
    array = jax.numpy.zeros(2)
    values = [jitted, traced, lowered, lowered.compile(), array, array.sharding]
    values += [jax.export.export(jitted)(1.0), jax.make_user_context(None)]
    return values + [each._lowering for each in (lowered,) if hasattr(each, "_lowering")]


def private_files(toolchain: Path) -> list[Path]:
    """The `_private.py` of each room."""
    return sorted(toolchain.rglob("_private.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchain", type=Path, help="the folder with the rooms")
    parser.add_argument("--list", action="store_true", help="print all names")
    options = parser.parse_args()
    names = sorted(name for file in private_files(options.toolchain) for name in names_used(file))
    if options.list:
        print(*(f"{name}  ({name.where})" for name in names), sep="\n")
        return 0
    absent = missing(names)
    for name in absent:
        print(f"{name}: missing, used at {name.where}")
    import jax

    print(f"jax {jax.__version__}: {len(names) - len(absent)} of {len(names)} names are there")
    return int(bool(absent))


if __name__ == "__main__":
    sys.exit(main())
