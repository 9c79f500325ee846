"""`jxc run`: load an executable that `jxc compile --save` wrote, and run it in this process."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import click

from ..errors import JxcError
from ..files import write_json
from .options import InputOptions, json_option, options_of
from .process import in_child


@click.command()
@click.argument("file")
@options_of(InputOptions)
@click.option("--bench", type=click.IntRange(min=1), metavar="N", help="Time N rounds.")
@click.option("--trust", is_flag=True, help="Do not warn that FILE holds machine code.")
@json_option
def run_command(file: str, inputs: str, bench: int | None, trust: bool, as_json: bool) -> None:
    """Run the executable in FILE and print its results. Nothing is compiled.

    \b
    jxc compile model.py:predict 'f32[8,784]' --save predict.jxc
    jxc run predict.jxc --input @batch.npz

    A FILE works with the version of jaxlib and the kind of hardware that it was made for, and is
    refused elsewhere. Exit code 3: the hardware is missing.
    """
    os.environ.pop("JXC_PIPELINE", None)
    from ..backend.artifacts.header import read_header
    from ..frontend.mesh import split_host

    header = read_header(file)
    if header.platform == "cpu":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        split_host(header.devices)
    if not trust:
        click.echo(
            f"jxc: warning: {file} holds machine code, which can do anything on this machine: run "
            "only files that you trust (--trust says that you do)",
            err=True,
        )
    stage = in_child(None, lambda _: [])
    stage.enter(f"while running {file}: it is damaged, or was made for another machine")
    import jax

    from ..backend.artifacts.loading import load
    from ..check.fill import fill
    from .compile.run import print_bench, print_outputs

    program = load(file)
    summary: dict[str, Any] = {"schema_version": 1, "file": file, "target": header.target}
    with jax.enable_x64(True) if header.x64 else contextlib.nullcontext():
        args, kwargs = fill(program.arguments, inputs)
        try:
            outputs = jax.block_until_ready(program(*args, **kwargs))
        except JxcError:
            raise
        except Exception as error:  # XLA's own, such as too little memory
            raise JxcError(f"the program failed: {type(error).__name__}: {error}") from error
        print_outputs(outputs, summary, quiet=as_json)
        if bench:
            print_bench({header.name: program}, args, kwargs, bench, summary, quiet=as_json)
    if as_json:
        write_json(summary, "-")
