"""Loops whose turns cost more than what is done in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....hlo import Computation, Instruction
from ....hlo.work import stated_trips
from ....source import SourceLine
from ....units import show_count
from ...report.kernels import Kernel
from ..equations import bytes_of, is_variable
from ..finding import Cost, Finding
from ..program import Program
from ..registry import check, compiled_check
from ..thresholds import LEAST_OVERHEAD, LEAST_SHARE, LEAST_TURNS, OVERHEAD_RATIO

_CALLBACKS = ("pure_callback", "io_callback", "debug_callback", "debug_print")


@check
def callback_in_loop(program: Program) -> Iterator[Finding]:
    """Calls of the host in each turn of a scan or a while loop.

    Each stops the program until Python has answered. One in a branch of a `lax.cond` is left alone:
    that is how one calls every hundredth time.
    """
    for step in program.steps:
        if step.name not in _CALLBACKS or not step.loops or step.is_guarded:
            continue
        often = "in each turn" if step.turns is None else f"{step.turns} times in one run"
        moved = sum(bytes_of(each.aval) for each in step.equation.invars if is_variable(each))
        turns = step.turns
        yield Finding(
            step.place,
            f"{_caller(step.name)} calls the host {often} of a loop",
            "Return the values from the loop and look at them afterwards, or call within "
            "lax.cond(i % 100 == 0, ...).",
            Cost(
                bytes=None if turns is None else moved * turns,
                calls=turns,
                how="in one run" if turns is not None else "",
            ),
        )


def _caller(primitive: str) -> str:
    return "jax.debug.print" if primitive == "debug_print" else f"a {primitive}"


@dataclass(frozen=True)
class _Loop:
    """A loop of the user's in the compiled program.

    Attributes:
        instruction: the `while`.
        turns: in one run of the program, those of loops around it counted in.
        launches: how many kernels one turn starts.
        work: seconds of one turn's work by the roofline, without starting kernels.
    """

    instruction: Instruction
    turns: float
    launches: float
    work: float


@compiled_check
def tiny_loop_body(program: Program) -> Iterator[Finding]:
    """Counted loops in which starting kernels takes longer than what they do.

    By the roofline of the target: four times as long, in at least 64 turns. Not on the CPU, where
    a kernel starts in about a tenth of a microsecond and an unrolled loop is seldom faster.
    """
    start = program.target.device.launch_seconds if program.target.kind != "cpu" else 0.0
    whole = program.compiled.roofline_seconds
    by_line: dict[SourceLine | None, _Loop] = {}
    for loop in _loops(program) if start else ():
        overhead = loop.turns * loop.launches * start
        if overhead < max(LEAST_OVERHEAD, LEAST_SHARE * whole):
            continue
        if loop.turns >= LEAST_TURNS and loop.launches * start >= OVERHEAD_RATIO * loop.work:
            by_line.setdefault(loop.instruction.place, loop)
    for place, loop in by_line.items():
        yield _tiny(program, place, loop, start)


def _tiny(program: Program, place: SourceLine | None, loop: _Loop, start: float) -> Finding:
    overhead = loop.launches * start
    work = f"{loop.work / overhead:.0%} of that" if loop.work > 0.005 * overhead else "next to none"
    return Finding(
        place,
        f"each of {show_count(loop.turns)} turns starts {show_count(loop.launches)} kernels; their "
        f"work is {work}",
        "Do more in a turn: several items at once by vmap, lax.associative_scan where the step is "
        "associative, or lax.scan(..., unroll=8), where the ops of several turns fuse.",
        Cost(
            seconds=loop.turns * overhead,
            calls=loop.turns * loop.launches,
            how=f"starting kernels, {start * 1e6:g} µs each on {program.target.name}",
        ),
    )


def _loops(program: Program) -> Iterator[_Loop]:
    """The counted loops that the user wrote, innermost ones alone: JAX's `while`, not XLA's own."""
    kernels: dict[Computation, list[Kernel]] = {}
    for kernel in program.compiled.kernels:
        kernels.setdefault(kernel.instruction.computation, []).append(kernel)
    for computation in program.compiled.module.computations.values():
        for instruction in computation.instructions:
            body = instruction.callee("body") if instruction.opcode == "while" else None
            inside = kernels.get(body, []) if body is not None else []
            if inside and stated_trips(instruction) and _is_of_jax(instruction):
                yield _loop(program, instruction, inside)


def _loop(program: Program, instruction: Instruction, kernels: list[Kernel]) -> _Loop:
    turns = max(kernel.times for kernel in kernels)
    rooflines = [kernel.roofline(program.target.device) for kernel in kernels]
    work = sum(max(each.compute_seconds, each.memory_seconds) for each in rooflines)
    has_inner = any(
        each.opcode == "while" for each in kernels[0].instruction.computation.instructions
    )
    return _Loop(instruction, turns, 0.0 if has_inner else float(len(kernels)), work)


def _is_of_jax(loop: Instruction) -> bool:
    return loop.op_name.rpartition("/")[2] == "while"
