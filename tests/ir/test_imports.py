"""Importing jxc does not import jax, and does not change the modules of jaxlib."""

import subprocess
import sys

import pytest


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


WHOLE = """
import importlib
from jxc.ir import make_context
make_context()
extension = importlib.import_module("jaxlib.mlir._mlir_libs.{extension}")
public = importlib.import_module("jaxlib.mlir.dialects.{public}")
print([n for n in dir(extension) if not n.startswith("_") and not hasattr(public, n)])
"""


@pytest.mark.parametrize(
    ("extension", "public"),
    [("_stablehlo", "stablehlo"), ("_chlo", "chlo"), ("_sdy", "sdy"), ("_mlirHlo", "mhlo")],
)
def test_make_context_does_not_change_public_dialect_modules(extension, public):
    assert run(WHOLE.format(extension=extension, public=public)) == "[]"


@pytest.mark.parametrize("module", ["jxc", "jxc.ir", "jxc.rewrite", "jxc.pipeline", "jxc.cli.opt"])
def test_ir_rewrite_and_pipeline_never_import_jax(module):
    assert run(f"import {module}, sys; print('jax' in sys.modules)") == "False"


def test_every_pass_works_without_jax():
    code = "import jxc.pipeline as p, sys; print(len(p.our_passes()) > 2, 'jax' in sys.modules)"
    assert run(code) == "True False"


def test_public_names_of_subpackages_exist():
    import jxc

    assert all(getattr(jxc, name) is not None for name in jxc.__all__)
    hooks = set(jxc._NAMES["notebook"])  # IPython calls them
    assert set(jxc.__all__) == {*jxc._HOME, "ir"} - hooks


def test_jxc_ir_describes_what_it_exports():
    import jxc.ir

    assert all(getattr(jxc.ir, name) is not None for name in jxc.ir.__all__)
    assert all(f"`{name}`" in jxc.ir.__doc__ for name in jxc.ir.__all__)


def test_the_example_in_the_docstring_of_jxc_ir_runs():
    import textwrap

    import jxc.ir
    from jxc.rewrite import Rule

    lines = jxc.ir.__doc__.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("    from "))
    end = next(i for i, line in enumerate(lines) if line.startswith("Types:"))
    names = {}
    exec(textwrap.dedent("\n".join(lines[start:end])), names)
    assert isinstance(names["double_to_shift"], Rule)
