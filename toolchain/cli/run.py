"""`jxc run`: what `jxc compile --save` wrote, loaded and run in this process."""

from __future__ import annotations

import os
from typing import Any

import click

from ..errors import JxcError
from ..files import write_json
from .process import in_child


@click.command(short_help="Load and run what `jxc compile --save` wrote.")
@click.argument("file")
@click.option(
    "--input", "inputs", default="random", metavar="random|zeros|@FILE", help="What to run it on."
)
@click.option("--seed", default=0, show_default=True, help="Of random inputs.")
@click.option("--bench", type=click.IntRange(min=1), metavar="N", help="Time it, N rounds.")
@click.option("--trust", is_flag=True, help="You know who made the file: no warning.")
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def run_command(file: str, **flags: Any) -> None:
    """Run the executable in FILE, and print what it returns. Nothing is compiled.

    \b
    jxc compile model.py:predict 'f32[8,784]' --save predict.jxc
    jxc run predict.jxc --input @batch.npz

    A FILE is for one version of jaxlib and one kind of hardware, and is refused elsewhere; the exit
    code is 3 where the hardware is missing.
    """
    os.environ.pop("JXC_PIPELINE", None)
    from ..backend.artifacts.header import read_header
    from ..frontend.mesh import split_host

    header = read_header(file)
    if header.platform == "cpu":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        split_host(header.devices)
    if not flags["trust"]:
        click.echo(
            f"jxc: warning: {file} holds machine code, and running it does whatever its maker "
            "wanted: run what you trust (--trust says so)",
            err=True,
        )
    stage = in_child(None, lambda _: [])
    stage.enter(f"while running {file}: it was made for another machine, or is not what it says")
    _run(file, flags)


def _run(file: str, flags: dict[str, Any]) -> None:
    import contextlib

    import jax

    from ..backend.artifacts.loading import load
    from ..check.fill import fill
    from .compile.run import print_bench, print_outputs

    program = load(file)
    header = program.header
    summary: dict[str, Any] = {"schema_version": 1, "file": file, "target": header.target}
    with contextlib.ExitStack() as stack:
        if header.x64:
            stack.enter_context(jax.enable_x64(True))
        args, kwargs = fill(program.arguments, flags["inputs"], flags["seed"])
        outputs = _ran(program, args, kwargs)
        print_outputs(outputs, summary, quiet=flags["as_json"])
        if flags["bench"]:
            programs = {header.name: program}
            print_bench(programs, args, kwargs, flags["bench"], summary, quiet=flags["as_json"])
    if flags["as_json"]:
        write_json(summary, "-")


def _ran(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import jax

    try:
        return jax.block_until_ready(program(*args, **kwargs))
    except JxcError:
        raise
    except Exception as error:  # of XLA's own kind: memory, say
        raise JxcError(f"running it failed: {type(error).__name__}: {error}") from error
