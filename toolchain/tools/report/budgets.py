"""Budgets for a compiled program, and what exceeds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from ...errors import UsageError
from ...hlo import Instruction, Module, SourceLine
from ...hlo.work import flops_of, is_free, is_library, stablehlo_name
from ...ir import walk
from ...ir.locations import frames_of
from ...source import innermost_user_line
from ...units import parse_bytes, parse_count, show_bytes, show_count
from .collectives import kind_of
from .forbidden import COLLECTIVES, ELEMENT_TYPES, is_op, parse_words

if TYPE_CHECKING:
    from .report import Compiled


@dataclass(frozen=True)
class Budgets:
    """What a program may take on each device; None for as much as it likes.

    Attributes:
        max_memory: bytes at the peak, see `Memory.peak`.
        max_flops: of one run.
        max_compile_seconds: of the target's compiler.
        forbid: what must not be in the optimised HLO, see `parse`.
    """

    max_memory: int | None = None
    max_flops: float | None = None
    max_compile_seconds: float | None = None
    forbid: tuple[str, ...] = ()

    @property
    def forbids_types(self) -> bool:
        """Whether some element type is forbidden."""
        return any(word in ELEMENT_TYPES for word in self.forbid)

    @classmethod
    def parse(
        cls,
        max_memory: str | None = None,
        max_flops: str | None = None,
        max_compile_seconds: float | None = None,
        forbid: str | None = None,
    ) -> Budgets:
        """Budgets as the command line has them.

        Args:
            max_memory: such as "12GiB".
            max_flops: such as "2e12" or "3T".
            max_compile_seconds: more than zero.
            forbid: opcodes, element types, `collectives`, and ops of the program such as
                "stablehlo.sort", with commas between them. A collective is meant whether it runs
                asynchronously or not, and an opcode also inside fusions and where a compiler calls
                a library for it; a product of matrices is `dot` though a TPU convolves.
                `custom-call` does not mean those that only name memory.

        Raises:
            UsageError: one of them cannot be understood.
        """
        if max_compile_seconds is not None and max_compile_seconds <= 0:
            raise UsageError(f"expected more than 0 seconds, found {max_compile_seconds:g}")
        return cls(
            None if max_memory is None else parse_bytes(max_memory),
            None if max_flops is None else parse_count(max_flops),
            max_compile_seconds,
            parse_words(forbid),
        )


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        kind: "memory", "flops", "compile-seconds", "forbid"; "compile" where there is no program.
        message: a sentence with what was found, what was allowed, and where.
        found: as a number: bytes, flops, seconds, or how many.
        allowed: the most that it may be.
        place: the line of Python that takes the most.
    """

    kind: str
    message: str
    found: float | None = None
    allowed: float | None = None
    place: SourceLine | None = None

    def __str__(self) -> str:
        return self.message

    def as_json(self) -> dict[str, Any]:
        """The same, the line as file and number."""
        return {
            "kind": self.kind,
            "message": self.message,
            "found": self.found,
            "allowed": self.allowed,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
        }


def check(budgets: Budgets, compiled: Compiled, plain: Compiled | None = None) -> list[Finding]:
    """Every budget that a compiled program exceeds.

    Args:
        budgets: what it may take.
        compiled: the program after our passes.
        plain: without them, which element types are looked for in: a pass of ours may compute a
            sine in f64 where that is faster, and that is not what the user forbids.
    """
    found = [_memory(budgets, compiled), _flops(budgets, compiled), _seconds(budgets, compiled)]
    own = (plain or compiled).module
    forbidden = (
        _forbidden(word, own if word in ELEMENT_TYPES else compiled.module)
        for word in budgets.forbid
        if not is_op(word)
    )
    return [each for each in (*found, *forbidden) if each is not None]


def check_program(budgets: Budgets, program: ir.Module) -> list[Finding]:
    """Every op of a program that is forbidden by its name in StableHLO.

    Args:
        budgets: what it may take.
        program: the module before any pass: what the user wrote, not what a pass made of it.
    """
    wanted = [word for word in budgets.forbid if is_op(word)]
    found: dict[str, list[ir.OpView]] = {word: [] for word in wanted}
    for op in walk(program.operation) if wanted else ():
        if (name := op.operation.name) in found:
            found[name].append(op)
    return [_of_program(word, ops) for word, ops in found.items() if ops]


def _of_program(word: str, ops: list[ir.OpView]) -> Finding:
    place = next(filter(None, map(_place_in_program, ops)), None)
    said = f"has {word} {len(ops)} times in the program, allowed is none"
    said += f"; the first at {place}" if place else ""
    return Finding("forbid", said, len(ops), 0, place)


def _place_in_program(op: ir.OpView) -> SourceLine | None:
    """The line of an op; of a call of its function where JAX has left no line in there."""
    place = innermost_user_line(SourceLine(*frame) for frame in reversed(frames_of(op.location)))
    outer = op.operation.parent
    while place is None and outer is not None and outer.name != "func.func":
        outer = outer.parent
    if place is not None or outer is None:
        return place
    name = ir.StringAttr(outer.attributes["sym_name"]).value
    calls = (each for each in walk(outer.parent) if each.operation.name == "func.call")
    own = (call for call in calls if ir.FlatSymbolRefAttr(call.attributes["callee"]).value == name)
    return next(filter(None, map(_place_in_program, own)), None)


def _memory(budgets: Budgets, compiled: Compiled) -> Finding | None:
    allowed = budgets.max_memory
    if allowed is None or compiled.memory.peak <= allowed:
        return None
    memory = compiled.memory
    said = f"needs {show_bytes(memory.peak)} of memory, allowed are {show_bytes(allowed)}"
    placed = next((each for each in memory.buffers if each.place), None)
    largest = dict.fromkeys(filter(None, (*memory.buffers[:1], placed)))
    if largest:
        said += f"; the largest: {', '.join(map(str, largest))}"
    return Finding("memory", said, memory.peak, allowed, placed.place if placed else None)


def _flops(budgets: Budgets, compiled: Compiled) -> Finding | None:
    allowed = budgets.max_flops
    if allowed is None or compiled.totals.flops <= allowed:
        return None
    totals = compiled.totals
    costs = [(flops_of(run.instruction).total * run.times, run) for run in compiled.executed]
    most, run = max(costs, key=lambda each: each[0])
    said = (
        f"takes {show_count(totals.flops)} flops, allowed are {show_count(allowed)}; "
        f"{show_count(most)} of them {_where(run.instruction)}"
    )
    return Finding("flops", said, totals.flops, allowed, run.instruction.place)


def _seconds(budgets: Budgets, compiled: Compiled) -> Finding | None:
    allowed, found = budgets.max_compile_seconds, compiled.build.seconds
    if allowed is None or found <= allowed:
        return None
    said = f"takes {found:.3g} seconds to compile, allowed are {allowed:g}"
    return Finding("compile-seconds", said, found, allowed)


def _forbidden(word: str, module: Module) -> Finding | None:
    found = list(_matching(word, module))
    if not found:
        return None
    largest = max(found, key=lambda each: each.shape.bytes)
    said = f"has {word} {len(found)} times, allowed is none; the largest: {largest.shape} "
    said += _where(largest)
    return Finding("forbid", said, len(found), 0, largest.place)


def _matching(word: str, module: Module) -> Iterator[Instruction]:
    for computation in module.computations.values():
        for instruction in computation.instructions:
            if _is_meant(word, instruction):
                yield instruction


def _is_meant(word: str, instruction: Instruction) -> bool:
    if word in ELEMENT_TYPES:
        return any(leaf.element_type == word for leaf in instruction.shape.leaves)
    kind = kind_of(instruction)
    if kind is not None:
        return word in (kind, COLLECTIVES)
    if word == "custom-call":
        return instruction.opcode == word and not is_free(instruction)
    name = stablehlo_name(instruction)
    is_known = instruction.opcode != "custom-call" or is_library(instruction)
    if name in _IN_DISGUISE and is_known:
        return word == _IN_DISGUISE[name]
    return instruction.opcode == word


_IN_DISGUISE = {
    "dot_general": "dot",
    "convolution": "convolution",
    "triangular_solve": "triangular-solve",
    "cholesky": "cholesky",
    "sort": "sort",
}
"""What a compiler may write as something else, and the opcode that says what it is."""


def _where(instruction: Instruction) -> str:
    name = f"({instruction.op_name or instruction.name})"
    return f"at {instruction.place} {name}" if instruction.place else f"in {name}"
