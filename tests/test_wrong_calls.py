"""Wrong command lines: a sentence that says what to do, and no traceback."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from jxc.cli import cli
from jxc.errors import JxcError
from jxc.ir import ModuleSyntaxError, make_context, read_module
from jxc.units import stated_columns


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("explian", "Did you mean 'explain'?"),
        ("profil", "Did you mean 'profile'?"),
        ("step.mlir", "To run passes on a module: jxc opt -O2 step.mlir."),
        ("train.py", "To run a program: jxc explain train.py."),
        ("model.py:step", "To lower a function: jxc lower model.py:step SPEC..."),
        ("xyzzy", "no verb 'xyzzy'. `jxc --help` lists them"),
    ],
)
def test_an_unknown_verb_is_refused_with_an_offer(word, says):
    error = CliRunner().invoke(cli, [word, "x"]).exception
    assert isinstance(error, JxcError) and error.exit_code == 2
    assert str(error).startswith(f"no verb {word!r}.") and says in str(error)


@pytest.mark.parametrize("text", ["import jax\n\ndef step(x):\n    return x\n", "x = 1\n"])
def test_a_python_file_in_place_of_a_module_is_refused_with_the_command(text):
    function = "step" if "def" in text else "FUNCTION"
    with pytest.raises(ModuleSyntaxError) as raised:
        read_module(text.encode(), make_context(), name="train.py")
    assert str(raised.value) == (
        "train.py is a file of Python; expected an MLIR module. Lower a function of it first:\n"
        f"  jxc lower train.py:{function} SPEC... -o module.mlir"
    )


def test_a_python_file_as_the_second_program_of_diff_is_refused_with_the_command(tmp_path):
    error = CliRunner().invoke(cli, ["diff", "a.mlir", "train.py"]).exception
    assert str(error) == "train.py is a file of Python: name a function of it, train.py:FUNCTION"


@pytest.mark.parametrize(
    ("text", "columns"),
    [("100", 100), ("abc", None), ("", None), ("0", None), ("-3", None), ("9" * 5000, None)],
)
def test_stated_columns_reads_numbers_only(monkeypatch, text, columns):
    monkeypatch.setenv("COLUMNS", text)
    assert stated_columns() == columns


@pytest.mark.parametrize("columns", ["abc", "\u00b2", "9" * 5000], ids=["word", "digit", "large"])
def test_a_width_that_is_no_number_is_ignored(tmp_path, columns):
    (tmp_path / "run.py").write_text("import jax\njax.jit(lambda x: x + 1)(1.0)\n")
    command = [sys.executable, "-c", "from jxc.cli import main; main()", "explain", "run.py"]
    settings = {**os.environ, "COLUMNS": columns, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        command, cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("jxc explain: 1 program was compiled in ")
    assert "Traceback" not in done.stderr
