"""The layers of CONTRIBUTING.md: which rooms a room may import."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LOWER = {"ir", "cost", "rewrite", "pipeline", "source", "importing", "files", "units", "display"}
COMPILING = LOWER | {"frontend", "hlo", "backend", "patterns"}

BELOW_TOOLS = COMPILING | {"check", "compiled", "events", "pages", "passes", "child"}
TOOLS = {f"tools.{path.parent.name}" for path in (ROOT / "toolchain/tools").glob("*/__init__.py")}

MAY_IMPORT = {
    "ir": {"source", "files", "child"},
    "source": set(),
    "importing": {"source"},
    "files": set(),
    "units": set(),
    "display": set(),
    "child": set(),
    "cost": {"ir", "files"},
    "rewrite": {"ir", "cost", "units"},
    "pipeline": {"ir", "rewrite", "cost", "display", "importing", "units"},
    "passes": {"ir", "rewrite", "cost", "patterns"},
    "frontend": {"ir", "source", "importing", "files", "units"},
    "patterns": {"ir", "rewrite", "pipeline"},
    "hlo": {"cost", "source", "files"},
    "backend": COMPILING,
    "check": COMPILING | {"passes", "child"},
    "compiled": COMPILING,
    "events": COMPILING,
    "pages": COMPILING,
    **dict.fromkeys(sorted(TOOLS), BELOW_TOOLS),
    "tools.lsp": {"ir", "source", "child", "units"},
    "notebook": COMPILING | {"events", "tools.explain", "tools.doctor"},
    "testing": BELOW_TOOLS | {"tools.report", "tools.explain"},
    "cli": BELOW_TOOLS | TOOLS | {"testing"},
}
"""Each room with the rooms that it may import. `errors` may be imported everywhere."""

NEVER_JAX = {"ir", "rewrite", "cost", "pipeline", "passes", "hlo", "source", "units", "child"} | {
    "display",
    "importing",
}
WRITTEN_IN_JAX = {"kernels"}
"""Passes made of replacements, whose functions import jax when they are traced."""


def imported_modules(file, room):
    """The full names of the modules that a file imports, with relative imports resolved."""
    top = ROOT if room == "passes" else ROOT / "toolchain"
    package = ("jxc", *file.relative_to(top).parent.parts)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            prefix = ".".join((*base, *filter(None, [node.module])))
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def room_of(name):
    """The room of a module's full name: `jxc.tools.report.sections` is in `tools.report`."""
    parts = name.split(".")[1:]
    return ".".join(parts[: 2 if parts[0] == "tools" else 1])


def files_of(room):
    folder = ROOT / ("passes" if room == "passes" else f"toolchain/{room.replace('.', '/')}")
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_room_imports_only_allowed_rooms(room):
    for file in files_of(room):
        names = list(imported_modules(file, room))
        rooms = {room_of(name) for name in names if name.startswith("jxc.")}
        assert (rooms & set(MAY_IMPORT)) <= MAY_IMPORT[room] | {room}, file
        if room in NEVER_JAX and file.parent.name not in WRITTEN_IN_JAX:
            assert not [n for n in names if n == "jax" or n.startswith("jax.")], file


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_private_names_stay_in_their_room(room):
    """Another room asks a public module, such as `frontend.jaxprs`."""
    for file in files_of(room):
        names = {n for n in imported_modules(file, room) if "._private" in n}
        assert not {n for n in names if room_of(n) != room}, file


def test_passes_import_other_rooms_absolutely_and_each_other_relatively():
    for file in files_of("passes"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= len(file.relative_to(ROOT).parent.parts), (file, node.lineno)
                assert not (node.module or "").startswith("jxc.passes"), (file, node.lineno)


def test_no_module_imports_itself_through_others():
    files = {full_name(file, room): (file, room) for room in MAY_IMPORT for file in files_of(room)}
    imports = {
        name: {m for full in imported_modules(*found) if (m := module_of(full, files)) != name}
        for name, found in files.items()
    }
    TopologicalSorter(imports).prepare()  # raises CycleError, which lists the modules


def full_name(file, room):
    """The full name of the module in a file, such as `jxc.ir.build`."""
    inside = file.relative_to(ROOT if room == "passes" else ROOT / "toolchain").with_suffix("")
    return ".".join(("jxc", *inside.parts)).removesuffix(".__init__")


def module_of(full, modules):
    """The module that defines a full name: the name itself, or what is before its last dot."""
    return full if full in modules else full.rpartition(".")[0]


def test_every_folder_is_a_room():
    folders = {path.parent.name for path in (ROOT / "toolchain").glob("*/__init__.py")}
    assert folders - {"tools"} <= set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_files_have_at_most_400_lines(room):
    assert {f.name: n for f in files_of(room) if (n := len(f.read_text().splitlines())) > 400} == {}


def test_no_two_public_classes_have_the_same_name():
    names = [
        node.name
        for room in MAY_IMPORT
        for file in files_of(room)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert {name for name in names if names.count(name) > 1} == set()
