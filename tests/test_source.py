"""The owner of a file (user, library, JAX or jxc), and the line of a stack that a message names."""

import json
import os
import sys
import sysconfig
import warnings
from pathlib import Path

import jax
import pytest

import jxc
from jxc import source
from jxc.source import (
    JxcWarning,
    SourceLine,
    current_user_line,
    definition_line,
    home_of,
    innermost_library_line,
    innermost_user_line,
    is_compiler_file,
    is_jxc_file,
    is_standard_library,
    owner_of,
    user_line_of_traceback,
    warn_user,
)

SITE = sysconfig.get_paths()["purelib"]
JAX, JXC = str(Path(jax.__file__).parent), str(Path(jxc.__file__).parent)
ELSEWHERE = "/srv/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        (__file__, "user"),
        ("<ipython-input-3-0a>", "user"),
        ("<stdin>", "user"),
        ("<string>", "typed"),
        ("<frozen importlib._bootstrap>", "compiler"),
        (f"{JAX}/_src/api.py", "compiler"),
        (f"{JXC}/cli/io.py", "compiler"),
        (f"{SITE}/flax/linen/linear.py", "library"),
        (os.__file__, "library"),
        (f"{ELSEWHERE}/jax/_src/api.py", "compiler"),
        (f"{ELSEWHERE}/flax/linen/linear.py", "library"),
        ("/srv/train.py", "user"),
    ],
)
def test_owner_of(file: str, owner: str) -> None:
    assert owner_of(file) == owner


@pytest.mark.parametrize("package", ["jaxtyping", "jax_md", "jaxlib_tools", "jaxopt"])
def test_packages_whose_name_begins_with_jax_are_libraries(package: str) -> None:
    beside_jax = f"{Path(JAX).parent}/{package}/a.py"
    assert owner_of(beside_jax) == owner_of(f"{ELSEWHERE}/{package}/a.py") == "library"
    assert owner_of(f"{Path(JXC).parent}/{Path(JXC).name}_examples/a.py") == "user"
    assert not is_compiler_file(beside_jax)


def test_a_warning_skips_jax_and_libraries_only(tmp_path: Path) -> None:
    """The warning is issued in `jax_models/train.py`, a file of the user."""
    file = tmp_path / "jax_models" / "train.py"
    scope = {"warn_user": warn_user}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile("\n\nwarn_user('beware')", str(file), "exec"), scope)
    [warning] = caught
    assert warning.category is JxcWarning
    assert (warning.filename, warning.lineno) == (str(file), 3)


def test_installed_package_in_a_home_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    file = f"{SITE}/flax/linen/linear.py"
    assert owner_of(file, home=f"{SITE}/flax/") == "user"
    monkeypatch.setattr(source, "user_folders", [f"{SITE}/flax/"])
    assert owner_of(file) == "user"
    assert owner_of(f"{SITE}/optax/a.py") == "library"


def test_standard_library_and_own_files() -> None:
    assert is_standard_library(os.__file__)
    assert not is_standard_library(f"{SITE}/flax/linen/linear.py")
    assert is_jxc_file(f"{JXC}/source.py")
    assert not is_jxc_file(f"{JAX}/_src/api.py")


def test_innermost_lines_take_the_outermost_first() -> None:
    mine, flax = SourceLine("/srv/a.py", 3), SourceLine(f"{SITE}/flax/core.py", 7)
    inside_jax = SourceLine(f"{JAX}/_src/api.py", 9)
    assert innermost_user_line([SourceLine("/srv/b.py", 1), mine, flax, inside_jax]) == mine
    assert innermost_user_line([flax]) is None
    assert innermost_library_line([mine, flax, inside_jax]) == "flax/core.py:7"
    assert innermost_library_line([flax, mine, inside_jax]) == ""
    assert innermost_library_line([mine, SourceLine("<string>", 3)]) == "<string>:3"


def test_user_line_of_traceback_is_the_line_that_called_the_library() -> None:
    try:
        os.path.join(3)  # type: ignore[call-overload]
    except TypeError as error:
        found = user_line_of_traceback(error.__traceback__)
    assert found is not None
    assert (found.file, found.text[:14]) == (__file__, "os.path.join(3")


def test_definition_line_looks_through_decorators() -> None:
    @jax.jit
    def step(x: float) -> float:
        return x

    found = definition_line(step)
    assert found is not None
    assert found.text == "def step(x: float) -> float:"
    assert home_of(step) is None
    assert str(home_of(json.dumps)).endswith("json")


def test_current_user_line_is_the_calling_line() -> None:
    found = current_user_line()
    assert found is not None
    assert found.function == sys._getframe().f_code.co_name
