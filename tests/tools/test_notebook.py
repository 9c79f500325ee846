"""`%%jxc`, results in a notebook that a kernel runs, and the tour in `examples/tour.ipynb`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
nbformat = pytest.importorskip("nbformat", reason="notebooks are run by nbclient")
pytest.importorskip("ipykernel", reason="notebooks are run in a kernel of ipykernel")

ROOT = Path(__file__).parent.parent.parent
ANSI = re.compile(r"\x1b\[[0-9;]*m")

CELLS = {
    "start": "%load_ext jxc\nimport jax, jax.numpy as jnp\nimport jxc",
    "rewrite": """%%jxc
@jax.jit
def halves(x):
    return x[jnp.arange(0, 512, 2)] * 2
halves(jnp.ones((512, 64))).shape""",
    "level": "%%jxc --level simplify,cse\njax.jit(lambda x: x + 0)(jnp.arange(3));",
    "explain": "%%jxc explain\nfor n in (600, 700):\n    halves(jnp.ones((n, 8)))",
    "doctor": """%%jxc doctor --target cpu
@jax.jit
def halves(x):
    return x[jnp.arange(0, 512, 2)] * 3
halves(jnp.ones((512, 64)));""",
    "magic inside": "%%jxc\nn = 2\n%precision 3\nn + 1",
    "error": "%%jxc\ndef fails():\n    return [][1]\n\nfails()",
    "syntax": "%%jxc\nx = ;",
    "unknown level": "%%jxc --level no-such-pass\nnot_run = 1",
    "unknown option": "%%jxc --no-such-option\nnot_run = 1",
    "not run": "'not_run' in globals()",
    "progress": """import time
from jxc.display.progress import progress
with progress("work <b>", delay=0.1) as show:
    time.sleep(1)""",
    "after": "jxc.use('O2').__class__.__name__, jax.jit(lambda x: x - 0)(3)",
    "cell names": "jxc.doctor(halves, jnp.ones((512, 64)))",
    "passes": "%%jxc -p simplify,cse\njax.jit(lambda x: x + 0)(jnp.arange(4));",
    "number": """%%jxc -O1 --strict
jax.jit(lambda x: jax.nn.softmax(jnp.tanh(x) @ x))(jnp.ones((9, 9)));""",
    "wrong number": "%%jxc -O7\nnot_run = 1",
}


def run(notebook, folder):
    """Run a notebook in a kernel of this Python, with errors as outputs."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="this Python", language="python")

    client = nbclient.NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_spec_manager=ThisPython()),
        timeout=120,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, "JAX_PLATFORMS": "cpu"})


def texts(cell):
    """The outputs of a cell: each stream, traceback, and HTML or text."""
    found = []
    for output in cell.outputs:
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type == "error":
            found.append("\n".join(output.traceback))
        else:
            found.append(output.data.get("text/html", output.data["text/plain"]))
    return [
        ANSI.sub("", text) for text in found if text
    ]  # a line of progress ends as an empty text


def errors(cell):
    return [output.ename for output in cell.outputs if output.output_type == "error"]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    run(notebook, tmp_path_factory.mktemp("notebook"))
    return dict(zip(CELLS, notebook.cells, strict=True))


def test_cell_runs_under_the_pipeline_and_shows_rewrites(cells):
    log, value = texts(cells["rewrite"])
    assert "1 program rewritten" in log
    assert "gather-of-affine-indices 1" in log
    assert value == "(256, 64)"


def test_level_chooses_the_pipeline_and_a_semicolon_hides_the_value(cells):
    (log,) = texts(cells["level"])
    assert "simplify,cse" in log


def test_options_of_the_command_line_choose_the_pipeline(cells):
    assert "simplify,cse" in texts(cells["passes"])[0]
    assert "O1 strict" in texts(cells["number"])[0]
    assert "unknown pass or level 'O7'" in texts(cells["wrong number"])[0]


def test_explain_shows_why_a_function_was_compiled_again(cells):
    (log,) = texts(cells["explain"])
    assert "halves was compiled again: x was f32[600,8] and is now f32[700,8]" in log


def test_lines_are_named_by_cells(cells):
    (log,) = texts(cells["explain"])
    assert "In[4]:2" in log
    assert "ipykernel" not in log
    assert "In[5]:3" in "".join(texts(cells["cell names"]))


def test_doctor_examines_what_the_cell_compiles(cells):
    (found,) = texts(cells["doctor"])
    assert "gather-as-slice" in found
    assert "jit_halves" in found


def test_magics_in_the_cell_work(cells):
    assert texts(cells["magic inside"])[-1] == "3"


def test_error_is_shown_once_without_frames_of_jxc(cells):
    assert errors(cells["error"]) == ["IndexError"]
    shown = "".join(texts(cells["error"]))
    assert shown.count("IndexError: list index out of range") == 1
    assert "toolchain" not in shown
    assert re.search(r"Cell In\[7\], line 2, in fails", shown)
    assert errors(cells["syntax"]) == ["SyntaxError"]


def test_wrong_options_are_named_and_the_cell_does_not_run(cells):
    assert texts(cells["unknown level"])[0].startswith(
        "UsageError: unknown pass or level 'no-such-pass'"
    )
    assert "--no-such-option" in texts(cells["unknown option"])[0]
    assert texts(cells["not run"]) == ["False"]


def test_progress_is_shown_and_removed(cells):
    """A notebook keeps the last content of an output that is updated."""
    assert [each.data["text/html"] for each in cells["progress"].outputs] == [""]


def test_tour_runs(tmp_path):
    notebook = nbformat.read(ROOT / "examples/tour.ipynb", as_version=4)
    assert [cell for cell in notebook.cells if cell.get("outputs")] == []
    run(notebook, tmp_path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [errors(cell) for cell in code] == [[] for _ in code]
    shown = [texts(cell) for cell in code]
    assert shown[0] == []
    for outputs in shown[1:]:
        assert outputs[0].startswith('<div class="jxc-html">')
    words = ["stablehlo.convolution", "depthwise-to-multiply-add", "same (", "MiB", "jit_blur"]
    words += ["compiled 3 times", "gather-as-slice", "memory at peak"]
    for word, outputs in zip(words, shown[1:], strict=True):
        assert word in "".join(outputs)


def test_extension_is_found_without_importing_jax_or_ipython():
    code = (
        "import sys, jxc; assert callable(jxc.load_ipython_extension); "
        "assert not {'jax', 'IPython'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
