"""`jxc lower`: from a function to a module. JAX is imported once the request is found valid."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import click

from ..errors import UsageError
from ..files import write_json, write_output
from ..frontend import BINARY_FORMS, FORMS, PLATFORMS, LowerRequest
from .options import lowering_options, read_options
from .process import leave_out_absent_hardware


@click.command()
@click.argument("target")
@lowering_options
@click.option(
    "--emit",
    "form",
    type=click.Choice(FORMS),
    default="stablehlo",
    show_default=True,
    help="Write this form: bytecode is MLIR's, portable an artifact for other versions of "
    "StableHLO, hlo the text of HLO before XLA optimizes it.",
)
@click.option(
    "--platform",
    type=click.Choice(PLATFORMS),
    help="Lower for a platform; the hardware need not be present.",
)
@click.option("-o", "output", default="-", metavar="FILE", help="Write to FILE, not to stdout.")
@click.option(
    "--debug-info", "--mlir-print-debuginfo", "debug_info", is_flag=True, help="Keep locations."
)
@click.option(
    "--mlir-elide-elementsattrs-if-larger",
    "elide",
    type=click.IntRange(min=0),
    metavar="N",
    help="Omit constants of more than N elements; such a module cannot be compiled.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the module.")
def lower_command(
    form: str,
    output: str,
    debug_info: bool,
    elide: int | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Trace the function TARGET with arguments like the SPECs, and print its module.

    TARGET is file.py:function, package.module:function, or a chain of attributes such as
    file.py:model.apply.

    \b
    A SPEC is the type of an argument, or its value:
      f32[8,128]  8x128xf32  bf16[]  pred[2]      an array
      f32[b,128]  f32[2*b]                        with symbolic dimensions
      '{"w": f32[784,256], "b": f32[256]}'        dicts, lists and tuples of specs
      key<fry>[]                                  a random key
      @x.npy  @x.npz[name]                        an array from a file
      1  2.5  True  None                          a Python value
      name=SPEC                                   a keyword argument

    \b
    jxc lower model.py:predict '{"w": f32[784,256], "b": f32[256]}' f32[8,784]
    jxc lower model.py:loss f32[256] --transform 'jit(grad)' --emit jaxpr
    """
    _check(form, output, as_json)
    # The module is JAX's alone: a pipeline for running programs would mark it.
    os.environ.pop("JXC_PIPELINE", None)
    leave_out_absent_hardware()
    from ..frontend.constants import warn_large
    from ..frontend.emit import EmitOptions, emit, summarize
    from ..frontend.request import run_request

    warnings.showwarning = _show_warning
    lowered = run_request(read_options(LowerRequest, flags))
    data = emit(lowered.lowering, form, EmitOptions(debug_info, elide))
    for warning in warn_large(lowered.lowering.constants):
        click.echo(f"jxc: warning: {warning}", err=True)
    if not as_json:
        write_output(data, output)
        return
    summary = {**summarize(lowered), "emit": form}
    if output == "-":
        summary["text"] = data
    else:
        write_output(data, output)
        summary["output"] = output
    write_json(summary, "-")


def _check(form: str, output: str, as_json: bool) -> None:
    """Refuse what cannot be written before anything is traced."""
    if form not in BINARY_FORMS or output != "-":
        return
    if as_json:
        raise UsageError(f"--json cannot hold {form}, which is binary: add -o FILE")
    if sys.stdout.isatty():
        raise UsageError(f"{form} is not written to a terminal: use -o FILE, or a pipe")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Print a warning of Python's as one of jxc's, with its line if that is the user's."""
    from ..source import SourceLine, is_user_file

    where = f"{SourceLine(filename, lineno)}: " if is_user_file(filename) else ""
    click.echo(f"jxc: warning: {where}{message}", err=True)
