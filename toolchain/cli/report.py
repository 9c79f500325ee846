"""`jxc report`: what a target's compiler makes of a program."""

from __future__ import annotations

from typing import Any

import click

from .compile import compile_source
from .compile.options import BudgetOptions, CompileOptions, GroupedCommand, XlaOptions
from .options import PassOptions, lowering_options, options_of


@click.command(cls=GroupedCommand, short_help="Report memory, kernels and collectives.")
@click.argument("source", default="-", metavar="[FILE|-|TARGET]")
@lowering_options
@options_of(PassOptions, XlaOptions, BudgetOptions)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all kernels.")
@click.option("-o", "output", default="-", metavar="FILE", help="Write the JSON object to FILE.")
def report_command(source: str, **flags: Any) -> None:
    """Compile a module or a function for each --target, and report whether it fits into memory,
    its kernels and their times, collectives, and compile seconds: without
    jxc's passes, and with those of -O2 unless others are named.

    \b
    jxc report model.py:step 'f32[8,784]' --target tpu:v5e:2x2,gpu:h100,cpu
    jxc report step.mlir --max-memory 12GiB --forbid f64,all-gather

    FILE, TARGET and SPECs are those of `jxc lower`. The hardware need not be present: `jxc targets`
    lists it. The exit code is 1 if the program does not fit into memory or exceeds a budget; 3 if a
    target's compiler is not installed.
    """
    compile_source(CompileOptions.read(source, flags, report=True))
