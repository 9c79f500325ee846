"""`jxc lower`: from a function to a module. JAX is imported once the request is found valid."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..files import write_output
from ..frontend import BINARY_FORMS, FORMS, PLATFORMS
from .process import leave_out_absent_hardware

if TYPE_CHECKING:
    from ..frontend.request import LoweredTarget

_SHORT_CONSTANT = 16  # elements; longer constants fill screens


def lowering_options(command: Any) -> Any:
    """A decorator: the SPECs and options of lowering a function, the fields of `LowerRequest`."""
    options = [
        click.argument("specs", nargs=-1, metavar="[SPEC]..."),
        click.option(
            "--args",
            "args_from",
            metavar="FILE.py:FN",
            help="Call FN for the arguments, in place of SPECs: a tuple, or (tuple, dict).",
        ),
        click.option(
            "--static",
            multiple=True,
            metavar="NAME=VALUE",
            help="Fix an argument while tracing, by name or by position from 0.",
        ),
        click.option(
            "--transform",
            metavar="NEST",
            help="Apply transforms first: jit, grad, value_and_grad, vmap, jvp, vjp, checkpoint, "
            "pmap, jacfwd, jacrev, hessian; e.g. 'vmap(grad(argnums=0), in_axes=(None, 0))'. The "
            "SPECs of a jvp are (primals, tangents), of a vjp (primals, cotangents).",
        ),
        click.option("--device", metavar="NAME[:N]", help="Lower for a device, such as cpu:0."),
        click.option(
            "--platform",
            type=click.Choice(PLATFORMS),
            help="Lower for a platform; the hardware need not be present.",
        ),
        click.option(
            "--host-devices",
            type=click.IntRange(min=1),
            metavar="N",
            help="Split the CPU into N devices. By default as many as pmap maps over.",
        ),
        click.option(
            "--mesh",
            metavar="AXIS=SIZE,...",
            help="Lower over a mesh such as data=4,model=2; its devices need not be present.",
        ),
        click.option(
            "--in-sharding",
            multiple=True,
            metavar="NAME=SPEC",
            help="Shard an argument. x=data,None splits its first dimension over the axis data, "
            "x=data+model over two axes; x= replicates it. NAME is a parameter, a position from 0 "
            "or a path such as \"params['w']\", in which * matches any key; the most specific one "
            "counts. XLA chooses the shardings of the other arguments.",
        ),
        click.option(
            "--out-sharding",
            multiple=True,
            metavar="NAME=SPEC",
            help="Shard a result: NAME is a position or a path such as \"result['loss']\".",
        ),
        click.option(
            "--sharding",
            metavar="FILE.py:FN",
            help="Call FN on the mesh for in_shardings, or (in_shardings, out_shardings).",
        ),
        click.option("--x64", is_flag=True, help="Keep 64-bit types, which JAX narrows otherwise."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


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
@click.option("-o", "output", default="-", metavar="FILE", help="Write to FILE, not to stdout.")
@click.option(
    "--debug-info", "--mlir-print-debuginfo", "debug_info", is_flag=True, help="Keep locations."
)
@click.option(
    "--elide-constants",
    is_flag=True,
    help=f"Omit constants of more than {_SHORT_CONSTANT} elements; such a module cannot be "
    "compiled.",
)
@click.option(
    "--mlir-elide-elementsattrs-if-larger",
    "elide",
    type=click.IntRange(min=0),
    metavar="N",
    help="Omit constants of more than N elements.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the module.")
def lower_command(
    form: str,
    output: str,
    debug_info: bool,
    elide_constants: bool,
    elide: int | None,
    as_json: bool,
    **request: Any,
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
    if elide_constants and elide is None:
        elide = _SHORT_CONSTANT
    _check(form, output, as_json)
    # The module is JAX's alone: a pipeline for running programs would mark it.
    os.environ.pop("JXC_PIPELINE", None)
    leave_out_absent_hardware()
    from ..frontend.emit import EmitOptions, emit
    from ..frontend.request import LowerRequest, run_request

    warnings.showwarning = _show_warning
    lowered = run_request(LowerRequest(**request))
    data = emit(lowered.lowering, form, EmitOptions(debug_info, elide))
    _warn(lowered)
    if as_json:
        _write_json(lowered, form, data, output)
    else:
        write_output(data, output)


def _check(form: str, output: str, as_json: bool) -> None:
    """Refuse what cannot be written before anything is traced."""
    is_binary = form in BINARY_FORMS
    if is_binary and as_json and output == "-":
        raise UsageError(f"--json cannot hold {form}, which is binary: add -o FILE")
    if is_binary and output == "-" and sys.stdout.isatty():
        raise UsageError(f"{form} is not written to a terminal: use -o FILE, or a pipe")


def _warn(lowered: LoweredTarget) -> None:
    from ..frontend.constants import warn_large

    for warning in warn_large(lowered.lowering.constants):
        click.echo(f"jxc: warning: {warning}", err=True)


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


def _write_json(lowered: LoweredTarget, form: str, data: str | bytes, output: str) -> None:
    from ..frontend.emit import summarize

    summary = {**summarize(lowered), "emit": form}
    if output == "-":
        summary["text"] = data
    else:
        write_output(data, output)
        summary["output"] = output
    write_output(json.dumps(summary, indent=2) + "\n", "-")
