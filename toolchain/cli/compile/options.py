"""The options of `jxc compile`, by what they are about."""

from __future__ import annotations

from typing import Any

import click


def running_options(command: Any) -> Any:
    """Running and timing what was compiled, here."""
    return _add(
        command,
        click.option("--run", is_flag=True, help="Run it once and print what it returns."),
        click.option(
            "--input",
            "inputs",
            default="random",
            metavar="random|zeros|@FILE",
            help="What to run it on.",
        ),
        click.option("--seed", default=0, show_default=True, help="Of random inputs."),
        click.option("--bench", type=click.IntRange(min=1), metavar="N", help="Time N rounds."),
        click.option(
            "--diff-plain", is_flag=True, help="Compare values and time with plain jax.jit."
        ),
    )


def budget_options(command: Any) -> Any:
    """The report, and what makes a check of it."""
    return _add(
        command,
        click.option(
            "--report",
            is_flag=True,
            help="Memory and whether it fits, kernels, what did not fuse, collectives, seconds; "
            "before our passes and after.",
        ),
        click.option("--max-memory", metavar="BYTES", help="Fail above it; 12GiB, a device."),
        click.option(
            "--max-flops",
            metavar="N",
            help="Fail above it, such as 2e12; an exponential or a sine counts as ten.",
        ),
        click.option("--max-compile-seconds", type=float, metavar="S", help="Fail above it."),
        click.option(
            "--forbid",
            metavar="WORDS",
            help="Fail where there is one: opcodes of the optimised HLO, element types, "
            "`collectives`, ops of the program: all-gather,f64,stablehlo.sort.",
        ),
    )


def _add(command: Any, *options: Any) -> Any:
    for option in reversed(options):
        command = option(command)
    return command
