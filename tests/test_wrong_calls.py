"""Wrong command lines: a sentence that says what to do, and no traceback."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import jxc
from jxc.backend.targets import find_target
from jxc.cli import cli
from jxc.cli.compile.options import parse_xla_options
from jxc.errors import JxcError, UsageError
from jxc.files import whole_number
from jxc.frontend.arguments import parse_static
from jxc.frontend.mesh import split_host
from jxc.frontend.specs import parse_argument
from jxc.ir import ModuleSyntaxError, make_context, read_module
from jxc.ir.shardings import parse_mesh
from jxc.units import parse_bytes, parse_count, stated_columns

LONG = "9" * 5000  # more digits than Python converts


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


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_argument, f"f32[{LONG}]"),
        (parse_argument, f"{LONG}x8xf32"),
        (parse_argument, LONG),
        (parse_argument, f"{{{LONG}: f32[8]}}"),
        (parse_argument, "[" * 5000),
        (parse_argument, "(" * 5000),
        (parse_argument, '{"a": ' * 5000),
        (parse_argument, f"f32[{'(' * 5000}n]"),
        (parse_argument, f"f32[{'-' * 50_000}n]"),
        (parse_mesh, f"data={LONG}"),
        (parse_mesh, "data=100000000000"),
        (parse_static, f"{LONG}=1"),
        (find_target, f"tpu:v5e:{LONG}x2"),
        (parse_bytes, f"{LONG}GiB"),
        (parse_count, "1e99999"),
        (lambda text: split_host(int(text)), "100000000000"),
    ],
)
def test_large_numbers_and_deep_nesting_are_refused_in_a_short_message(parse, text):
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert "expected" in str(raised.value) and len(str(raised.value)) < 500


def test_other_text_of_digits_stays_text():
    assert parse_xla_options([f"name={LONG}"]) == {"name": LONG}
    assert parse_xla_options(["name=-3"]) == {"name": -3}
    assert parse_static(f"x={'[' * 5000}") == ("x", "[" * 5000)
    assert parse_static("1=2") == (1, 2)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("12", 12),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("-1", None),
        ("\u00b2", None),
    ],
)
def test_whole_number_reads_ascii_digits_up_to_a_length(text, number):
    assert whole_number(text) == number


TUNED = "import jax.numpy as jnp\ndef f(x):\n    return jnp.cumsum(jnp.tanh(x @ x), axis=0)\n"


def test_a_verdict_that_is_not_kept_is_one_sentence(tmp_path):
    (tmp_path / "f.py").write_text(TUNED)
    (tmp_path / "file").touch()
    command = [sys.executable, "-c", "from jxc.cli import main; main()", "tune", "f.py:f"]
    folder = str(tmp_path / "file" / "below")
    settings = {**os.environ, "JXC_CACHE_DIR": folder, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [*command, "f32[64,64]", "--seconds", "60"],
        cwd=tmp_path,
        env=settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    (message,) = [line for line in done.stderr.splitlines() if "cannot write" in line]
    assert message.startswith(f"jxc: error: the verdict was not kept: cannot write to {folder}")
    assert done.returncode == 1


def test_a_misspelt_name_of_the_package_is_offered_by_python():
    command = [sys.executable, "-c", "import jxc; jxc.lowr"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "has no attribute 'lowr'. Did you mean: 'lower'?" in done.stderr


def test_wrong_values_are_refused_by_name():
    low = jxc.lower(lambda x: x + 1, "f32[8]")
    with pytest.raises(
        JxcError, match=r"expected a compiled program, such as .*found <jxc.Lowered"
    ):
        jxc.save(low, "unused.jxc")
    with pytest.raises(UsageError, match=r"expected assert_compiles\(N\)"):
        jxc.assert_compiles("two")
