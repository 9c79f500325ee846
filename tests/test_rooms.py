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
    "backend": {"ir", "rewrite", "cost", "pipeline", "frontend"},
    "check": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "passes"},
    "analysis": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "check"},
    "cli": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "check", "analysis"},
    "testing": {"ir", "rewrite", "cost", "pipeline", "frontend", "backend", "check", "analysis"},
}
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
    return {p[1] for p in parts if p[1] in MAY_IMPORT}


def files_of(room):
    return sorted((ROOT / ("passes" if room == "passes" else f"toolchain/{room}")).rglob("*.py"))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(room):
    assert files_of(room)
    for file in files_of(room):
        names = list(imported_modules(file, room))
        assert rooms_of(names) - {room} <= MAY_IMPORT[room], file
        if room in NEVER_JAX:
            assert not [n for n in names if n == "jax" or n.startswith("jax.")], file


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_no_file_is_too_long_to_open(room):
    assert {f.name: n for f in files_of(room) if (n := len(f.read_text().splitlines())) > 400} == {}
