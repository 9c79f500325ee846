"""Budgets for a compiled program, and what exceeds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .collectives import kind_of
from .hlo import Instruction, Module, Place
from .sizes import parse_bytes, parse_count, show_bytes, show_count
from .verdict_words import COLLECTIVES, ELEMENT_TYPES, parse_words
from .work import flops_of, is_free

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
            forbid: opcodes, element types, and `collectives`, with commas between them. A
                collective is meant whether it runs asynchronously or not, and an opcode also inside
                fusions. `custom-call` does not mean those that only name memory.

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
    place: Place | None = None

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
    )
    return [each for each in (*found, *forbidden) if each is not None]


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
    if word == "custom-call" and is_free(instruction):
        return False
    return instruction.opcode == word


def _where(instruction: Instruction) -> str:
    name = f"({instruction.op_name or instruction.name})"
    return f"at {instruction.place} {name}" if instruction.place else f"in {name}"
