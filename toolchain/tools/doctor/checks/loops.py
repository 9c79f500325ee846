"""Loops whose iterations cost more than the work in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....compiled.kernels import Kernel
from ....frontend.checks import CALLBACKS
from ....hlo import Computation, Instruction
from ....hlo.work import stated_trips
from ....source import SourceLine
from ....units import show_count
from ..finding import Finding, FindingCost, check, compiled_check
from ..jaxpr import bytes_of, is_variable
from ..program import ExaminedProgram
from ..thresholds import MIN_TIME_SHARE

_MIN_ITERATIONS = 64
_MIN_OVERHEAD_RATIO = 4  # of kernel launch time to kernel work in an iteration
_MIN_OVERHEAD_SECONDS = 1e-4  # of kernel launches in one run


@check
def callback_in_loop(program: ExaminedProgram) -> Iterator[Finding]:
    """Calls of the host in each iteration of a scan or a while loop.

    Each stops the program until Python has answered. A callback in a branch of a `lax.cond` is left
    alone: that is how one calls the host every hundredth time.
    """
    for each in program.equations:
        if each.name not in CALLBACKS or not each.loops or each.is_guarded:
            continue
        count = each.iterations
        how_often = "in each iteration" if count is None else f"{count} times in one run"
        moved = sum(bytes_of(x.aval) for x in each.equation.invars if is_variable(x))
        caller = "jax.debug.print" if each.name == "debug_print" else f"a {each.name}"
        yield Finding(
            each.place,
            f"{caller} calls the host {how_often} of a loop",
            "Return the values from the loop and inspect them afterwards, or call within "
            "lax.cond(i % 100 == 0, ...).",
            FindingCost(
                bytes=None if count is None else moved * count,
                calls=count,
                how="" if count is None else "in one run",
            ),
        )


@dataclass(frozen=True)
class _CompiledLoop:
    """A loop of the user's in the compiled program.

    Attributes:
        instruction: the `while`.
        iterations: in one run of the program, those of the loops around it multiplied in.
        launches: kernels that one iteration launches.
        work: seconds of one iteration's work by the roofline, without launches.
    """

    instruction: Instruction
    iterations: float
    launches: int
    work: float


@compiled_check
def tiny_loop_body(program: ExaminedProgram) -> Iterator[Finding]:
    """Counted loops that spend more time on launching kernels than on running them.

    By the roofline of the target: four times as much, in 64 iterations or more. Not reported for
    the CPU, which compiles small loops into one kernel: an unrolled loop is seldom faster.
    """
    launch = program.target.device.launch_seconds if program.target.kind != "cpu" else 0.0
    whole = program.compiled.roofline_seconds
    by_line: dict[SourceLine | None, _CompiledLoop] = {}
    for loop in _loops(program) if launch else ():
        overhead = loop.iterations * loop.launches * launch
        if overhead < max(_MIN_OVERHEAD_SECONDS, MIN_TIME_SHARE * whole):
            continue
        is_tiny = loop.launches * launch >= _MIN_OVERHEAD_RATIO * loop.work
        if is_tiny and loop.iterations >= _MIN_ITERATIONS:
            by_line.setdefault(loop.instruction.place, loop)
    for place, loop in by_line.items():
        overhead = loop.launches * launch
        share = loop.work / overhead
        work = f"{share:.0%} of the launch time" if share > 0.005 else "almost no time"
        yield Finding(
            place,
            f"each of {show_count(loop.iterations)} iterations launches "
            f"{show_count(loop.launches)} kernels, whose work takes {work}",
            "Do more in an iteration: several items at once by vmap, lax.associative_scan if the "
            "step is associative, or lax.scan(..., unroll=8), so that ops of several iterations "
            "fuse.",
            FindingCost(
                seconds=loop.iterations * overhead,
                calls=loop.iterations * loop.launches,
                how=f"launching kernels, {launch * 1e6:g} µs each on {program.target.name}",
            ),
        )


def _loops(program: ExaminedProgram) -> Iterator[_CompiledLoop]:
    """The innermost counted loops that the user wrote: JAX's `while`, not those that XLA makes."""
    kernels: dict[Computation, list[Kernel]] = {}
    for kernel in program.compiled.kernels:
        kernels.setdefault(kernel.instruction.computation, []).append(kernel)
    for computation in program.compiled.module.computations.values():
        for instruction in computation.instructions:
            body = instruction.callee("body") if instruction.opcode == "while" else None
            inside = kernels.get(body, []) if body is not None else []
            is_of_jax = instruction.op_name.rpartition("/")[2] == "while"
            is_innermost = body and all(each.opcode != "while" for each in body.instructions)
            if inside and stated_trips(instruction) and is_of_jax and is_innermost:
                device = program.target.device
                work = sum(kernel.roofline(device).work_seconds for kernel in inside)
                iterations = max(kernel.times for kernel in inside)
                yield _CompiledLoop(instruction, iterations, len(inside), work)
