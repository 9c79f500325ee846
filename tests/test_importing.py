"""Importing files of the user, for `--load-pass` and `--replacement`."""

import sys

import pytest

from jxc.errors import JxcError, UsageError
from jxc.pipeline import load_passes
from jxc.pipeline.library import import_option_file

RULES = """
from jaxlib.mlir.dialects.stablehlo import AbsOp
import jxc
from .helpers import is_one


@jxc.rule(jxc.exact)
def abs_of_one(op: AbsOp):
    '''|1| -> 1.'''
    return op.operand if is_one(op.operand) else None
"""


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "pack_of_rules" / "inner"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "helpers.py").write_text("def is_one(value):\n    return False\n")
    (folder / "rules.py").write_text(RULES)
    return folder


def test_file_in_a_package_may_import_relatively(package):
    assert list(load_passes(f"{package / 'rules.py'}:abs_of_one")) == ["abs-of-one"]
    assert sys.modules["pack_of_rules.inner.rules"].__file__ == str(package / "rules.py")


def test_file_outside_of_packages_hides_no_module(tmp_path):
    (tmp_path / "colorsys.py").write_text(RULES.replace("from .helpers import is_one\n", ""))
    assert list(load_passes(str(tmp_path / "colorsys.py"))) == ["abs-of-one"]
    import colorsys

    assert hasattr(colorsys, "rgb_to_hls")


@pytest.mark.parametrize("option", ["--load-pass", "--replacement"])
def test_file_may_import_what_lies_beside_it(tmp_path, option):
    (tmp_path / "helpers_beside.py").write_text("def is_one(value):\n    return False\n")
    (tmp_path / "late_beside.py").touch()
    text = RULES.replace("from .helpers", "from helpers_beside")
    (tmp_path / "rules.py").write_text(f"{text}\n\ndef later():\n    import late_beside\n")
    before = [*sys.path]
    import_option_file(tmp_path / "rules.py", option).later()
    assert sys.path == [*before, str(tmp_path)]


def test_file_beside_a_loaded_one_hides_no_module_later(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    (tmp_path / "rules.py").write_text(RULES.replace("from .helpers import is_one\n", ""))
    (tmp_path / "colorsys.py").touch()
    assert list(load_passes(str(tmp_path / "rules.py"))) == ["abs-of-one"]
    import colorsys

    assert hasattr(colorsys, "rgb_to_hls")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\nundefined_name\n", "rules.py:3: cannot be imported: NameError"),
        ("\ndef f(:\n", "rules.py:2:"),
        ("import sys\nsys.exit(3)\n", "rules.py:2: cannot be imported: SystemExit: 3"),
        ("import absent_package\n", "rules.py:1: cannot be imported: ModuleNotFoundError"),
    ],
)
def test_failed_import_names_the_line_of_a_relative_path(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.py").write_text(text)
    with pytest.raises(JxcError) as raised:
        load_passes("rules.py")
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.py", "--load-pass: no file"), ("rules.txt", "rules.txt is not Python source")],
)
def test_other_files_are_refused(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.txt").touch()
    with pytest.raises(UsageError, match=message):
        load_passes(name)
