"""`jxc translate`: a module from one form to another, or interpreted.

HLO that stays HLO does not become StableHLO on the way. JAX is imported only for files of
`jax.export`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ..errors import JxcError, UsageError
from ..files import input_name, read_input, require_file, write_output
from ..frontend import PLATFORMS
from . import ModuleCommand
from .options import PrintOptions, flag, option, options_of, read_options
from .process import ChildStage, in_child, leave

if TYPE_CHECKING:
    from jaxlib.mlir import ir

_FORMS = ("mlir", "bytecode", "portable", "hlo", "hlo-proto", "export")


@dataclass(frozen=True)
class TranslateOptions:
    """The options of `jxc translate`, under the names of their flags."""

    form: str = option(
        "--to",
        type=click.Choice(_FORMS),
        default="mlir",
        show_default=True,
        help="Write this form: mlir is text, bytecode MLIR's own, portable a StableHLO portable "
        "artifact, hlo text, hlo-proto an HloModuleProto, export a file of jax.export.",
    )
    target_version: str | None = option(
        "--target-version",
        "--target",
        metavar="VERSION",
        help="The version of StableHLO that reads the portable artifact, also the one in a file of "
        "jax.export: 1.9.0, minimum (default), current, week_4 or week_12.",
    )
    allow_other_dialects: bool = flag(
        help="Keep ops of other dialects than StableHLO in a portable artifact."
    )
    strip_debuginfo: bool = flag(help="Remove locations.")
    like: str | None = option(
        metavar="FILE",
        help="export: keep the calling convention of this file of jax.export (trees, shardings, "
        "platforms, gradient). The input's own one is kept by default.",
    )
    platform: str | None = option(
        type=click.Choice(PLATFORMS),
        help="export: the platform of a module that is not from such a file; cpu by default.",
    )
    interpret: bool = flag(
        help="Run @main on StableHLO's reference interpreter and print its results; -o FILE.npz "
        "saves them."
    )
    entry: str | None = option(metavar="NAME", help="Interpret the function @NAME.")
    args: tuple[str, ...] = option(
        multiple=True,
        metavar="FILE",
        help="Arguments: FILE.npy is one, FILE.npz has several in order, "
        "'[dense<1.0> : tensor<4xf32>]' is text. May be repeated.",
    )
    input_kind: str = option(
        "--input",
        metavar="KIND[:SEED]",
        default="normal",
        show_default=True,
        help="The arguments if there is no --args: normal, edge (edge values) or small (small "
        "integers), drawn with the seed 0, or with 7 as in normal:7; or zeros.",
    )


@click.command(short_help="Convert a module to another form, or interpret it.", cls=ModuleCommand)
@click.argument("file", default="-")
@click.option("-o", "output", default="-", metavar="FILE", help="Write to FILE, not to stdout.")
@options_of(TranslateOptions, PrintOptions)
def translate_command(file: str, output: str, **flags: Any) -> None:
    """Convert the module in FILE ('-' for stdin) to another form, or interpret it.

    FILE holds MLIR text or bytecode, a StableHLO portable artifact of any supported version, a
    jax.export file, HLO text or an HLO proto. The content decides which.

    \b
    jxc translate step.mlir --to portable --target-version 1.9.0 -o step.mlirbc
    jxc translate f.export --to hlo
    jxc opt -O2 f.export | jxc translate --to export --like f.export -o g.export
    jxc translate f.mlir --interpret --args x.npy --args '[dense<2> : tensor<i32>]'
    """
    options = read_options(TranslateOptions, flags)
    printing = read_options(PrintOptions, flags)
    _check(options, output)
    if output != "-":
        require_file(output)
    data = read_input(file)
    stage = in_child(data, lambda saved: ["translate", str(saved), "--to", options.form])
    _run(_Translation(input_name(file), data, options, printing, stage), output)
    leave(0)


def _check(options: TranslateOptions, output: str) -> None:
    """Refuse options that would have no effect or contradict each other."""
    for name, forms in _NEEDED_FORMS.items():
        if vars(options)[name] and (options.form not in forms or options.interpret):
            raise UsageError(f"--{name.replace('_', '-')} needs --to {' or '.join(forms)}")
    if options.interpret:
        from ..check.interpret import parse_kind

        parse_kind(options.input_kind)
    elif options.input_kind != "normal":
        raise UsageError("--input needs --interpret")
    if (options.args or options.entry) and not options.interpret:
        raise UsageError(f"--{'args' if options.args else 'entry'} needs --interpret")
    if options.interpret and options.form != "mlir":
        raise UsageError("--interpret prints results: give --to or it, not both")
    if options.interpret and output != "-" and not output.endswith(".npz"):
        raise UsageError(f"-o {output}: the results of --interpret are saved as FILE.npz")
    if options.like and options.platform:
        raise UsageError("--like FILE has platforms of its own: give --platform or it, not both")


_NEEDED_FORMS = {
    "target_version": ("portable", "export"),
    "allow_other_dialects": ("portable", "export"),
    "like": ("export",),
    "platform": ("export",),
}


@dataclass(frozen=True)
class _Translation:
    """One run of `jxc translate`: the input, its name in messages, and the options."""

    name: str
    data: bytes
    options: TranslateOptions
    printing: PrintOptions
    stage: ChildStage


def _run(job: _Translation, output: str) -> None:
    """Read, convert and write; or interpret and print."""
    job.stage.enter(f"while reading {job.name}")
    options = job.options
    if options.interpret:
        _interpret(job, output)
        return
    from ..ir.hlo import hlo_in, write_hlo

    is_hlo = options.form in ("hlo", "hlo-proto")
    proto = hlo_in(job.data, job.name) if is_hlo and not options.strip_debuginfo else None
    if proto is not None:
        result = write_hlo(proto) if options.form == "hlo" else proto
    else:
        result = _converted(job)
    write_output(result, output)


def _module(job: _Translation) -> ir.Module:
    """The module of the input."""
    from ..ir import make_context, read_module
    from ..pipeline.native import run_native

    module = read_module(job.data, make_context(), name=job.name)
    if job.options.strip_debuginfo:
        run_native("strip-debuginfo", module)
    job.stage.enter(f"while writing the module of {job.name}")
    return module


def _converted(job: _Translation) -> str | bytes:
    """The module of the input in the form that `--to` names."""
    from ..ir import write_bytecode, write_text
    from ..ir.hlo import write_hlo
    from ..ir.io import hlo_of_module

    options = job.options
    if options.form == "export":
        return _exported(job)
    module = _module(job)
    match options.form:
        case "mlir":
            return write_text(module, **job.printing.text_options(job.name))
        case "bytecode":
            return write_bytecode(module)
        case "portable":
            return _portable(module, options, allow_other_dialects=options.allow_other_dialects)
    try:
        proto = hlo_of_module(module)
    except Exception as error:  # jaxlib's XlaRuntimeError, a RuntimeError
        raise JxcError(f"{job.name}: this module has no HLO form: {error}") from None
    return write_hlo(proto) if options.form == "hlo" else proto


def _portable(module: ir.Module, options: TranslateOptions, *, allow_other_dialects: bool) -> bytes:
    from ..ir import write_portable
    from ..ir.io import portable_version

    version = portable_version(options.target_version or "minimum")
    return write_portable(module, version, allow_other_dialects=allow_other_dialects)


# Files of jax.export


def _exported(job: _Translation) -> bytes:
    """The input as a file of jax.export, with the calling convention of `--like` or its own."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from ..frontend import exported as files
    from ..ir import make_context, read_module
    from ..ir.io import module_of_export

    options = job.options
    if options.like is None and module_of_export(job.data) is not None:
        if options.platform:
            raise UsageError(f"--platform: {job.name} has platforms of its own")

        def convert(code: bytes) -> bytes:
            module = read_module(code, make_context(), name=job.name)
            return _portable(module, options, allow_other_dialects=True)

        if options.strip_debuginfo:
            raise UsageError("--strip-debuginfo needs --like FILE for a file of jax.export")
        return files.write_export(
            files.with_modules(files.read_export(job.data, job.name), convert)
        )
    module = _module(job)
    code = _portable(module, options, allow_other_dialects=True)
    if options.like is None:
        made = files.export_of_module(module, code, options.platform or "cpu")
    else:
        original = files.read_export(read_input(options.like), options.like)
        files.check_same_signature(original, module, options.like)
        made = files.with_module(original, code)
    return files.write_export(made)


# Interpreting


def _interpret(job: _Translation, output: str) -> None:
    """Print the results of @main on the reference interpreter, or save them."""
    from ..check.interpret import entry_of, interpret, make_arguments, show

    options = job.options
    module = entry_of(_module(job), options.entry)
    arguments = make_arguments(module, options.args, options.input_kind)
    results = interpret(module, arguments)
    if output == "-":
        click.echo(show(results, module), nl=False)
        return
    import numpy as np

    np.savez(output, *results)
