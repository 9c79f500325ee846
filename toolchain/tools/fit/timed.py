"""Whether a program runs in time on this CPU: it runs in a child process with a time limit."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from ...check.inputs import CannotRun, make_inputs, specs_of
from ...check.modules import main_type
from ...check.run import XlaProgram
from ...child import Child, ChildLost, serve
from ...ir import make_context, read_module, write_bytecode

_STARTING = 60.0
"""Processor seconds to start the process and to compile."""


def is_run_within(module: ir.Module, limit_s: float) -> bool:
    """Whether a program can be compiled here, and one run takes at most so long.

    Args:
        module: for one device, with static shapes.
        limit_s: processor seconds of one run on drawn arguments.
    """
    child = Child("jxc.tools.fit.timed", _STARTING)
    with contextlib.closing(child), contextlib.suppress(ChildLost):
        if child.ask(write_bytecode(module)):
            child.limit_s = limit_s
            return bool(child.ask(b""))
    return False


def main() -> None:
    """Compile each module that is asked for, and run the last one if nothing is; answer whether
    this worked."""
    program: XlaProgram | None = None
    inputs: Sequence[np.ndarray] = ()

    def answer(code: bytes) -> bool:
        nonlocal program, inputs
        try:
            if code:
                module = read_module(code, make_context())
                program = XlaProgram(module)
                program.compile()
                inputs = make_inputs(specs_of(main_type(module).inputs), "normal")
            elif program is not None:
                program(inputs)
        except CannotRun:
            return False
        return True

    serve(answer)
