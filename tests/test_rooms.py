"""The house as CONTRIBUTING draws it: which room may import which, read from the code."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "ir": set(),
    "rewrite": {"ir", "cost"},
    "cost": {"ir"},
    "pipeline": {"ir", "rewrite", "cost"},
    "passes": {"ir", "rewrite", "cost"},
    "frontend": {"ir"},
    "analysis.hlo": {"frontend"},
    "analysis.work": {"cost", "analysis.hlo"},
    "backend": {"ir", "rewrite", "cost", "pipeline", "frontend", "analysis.hlo", "analysis.work"},
    "check": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "passes"},
    "analysis": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "check"},
    "cli": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "check", "analysis"},
    "testing": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "check", "analysis"},
}
INNER = {"analysis.hlo", "analysis.work"}
"""Rooms within a room: they know the text of HLO and nothing else of what surrounds them."""
NEVER_JAX = {"ir", "rewrite", "cost", "pipeline", "passes"}


def imported_modules(file, room):
    """What a file imports, as full names: relative imports resolved against its place."""
    top = ROOT if room == "passes" else ROOT / "toolchain"
    package = ("jxc", *file.relative_to(top).parent.parts)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            prefix = ".".join((*base, *filter(None, [node.module])))
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def rooms_of(names):
    parts = [name.split(".") for name in names if name.startswith("jxc.")]
    inner = {".".join(p[1:3]) for p in parts if ".".join(p[1:3]) in INNER}
    return inner | {p[1] for p in parts if p[1] in MAY_IMPORT and ".".join(p[1:3]) not in INNER}


def files_of(room):
    folder = "passes" if room == "passes" else f"toolchain/{room.replace('.', '/')}"
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(room):
    assert files_of(room)
    for file in files_of(room):
        names = list(imported_modules(file, room))
        may = MAY_IMPORT[room] | {room}
        may |= {inner for inner in INNER if inner.partition(".")[0] in may}
        assert rooms_of(names) <= may, file
        if room in NEVER_JAX:
            assert not [n for n in names if n == "jax" or n.startswith("jax.")], file


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_no_file_is_too_long_to_open(room):
    assert {f.name: n for f in files_of(room) if (n := len(f.read_text().splitlines())) > 400} == {}
