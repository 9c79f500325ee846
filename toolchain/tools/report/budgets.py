"""Budgets of one program, and what exceeds them.

One `Budgets` and one `check` serve `jxc report` and `jxc compile`, the pytest marker, and
`jxc.testing.check_budget`. A `Measured` holds what they know of the program: its optimized HLO, its
StableHLO, and the compiler's numbers, any of which may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from ...errors import UsageError, did_you_mean
from ...hlo import Instruction, Module, SourceLine
from ...hlo.work import flops_of, is_free, is_library, stablehlo_name
from ...ir import walk
from ...ir.locations import frames_of
from ...source import innermost_user_line
from ...units import parse_bytes, parse_count, show_bytes, show_count
from .collectives import kind_of
from .forbidden import COLLECTIVES, ELEMENT_TYPES, is_op, mlir_type, parse_words

if TYPE_CHECKING:
    from .memory import Buffer
    from .report import Compiled


@dataclass(frozen=True)
class Budgets:
    """What one program may take on each device; None for no limit.

    Attributes:
        max_memory: bytes at the peak, see `peak_bytes`.
        max_temporaries: bytes that are neither arguments nor results.
        max_flops: of one run; an exponential or a sine counts as ten.
        max_ops: StableHLO ops.
        max_collectives: in the optimized HLO, as often as they run.
        max_compile_seconds: of the target's compiler.
        forbid: what must not occur, see `parse`.
    """

    max_memory: int | None = None
    max_temporaries: int | None = None
    max_flops: float | None = None
    max_ops: int | None = None
    max_collectives: int | None = None
    max_compile_seconds: float | None = None
    forbid: tuple[str, ...] = ()

    @property
    def forbids_types(self) -> bool:
        """Whether some element type is forbidden."""
        return any(word in ELEMENT_TYPES for word in self.forbid)

    @classmethod
    def parse(cls, given: Mapping[str, Any], others: Sequence[str] = ()) -> Budgets:
        """Budgets by name, as a test or a command line has them.

        Args:
            given: sizes such as 1024 or "12GiB", counts such as 2e12 or "2T", and for `forbid` a
                tuple or a text of words separated by commas. A word is an HLO opcode, an element
                type, `collectives`, or an op of the program such as "stablehlo.sort". An opcode
                also counts inside fusions, as an asynchronous pair, and where the compiler calls a
                library for it; a product of matrices is `dot` even where a TPU convolves.
                `custom-call` leaves out calls that only name memory. None is no budget.
            others: names that the caller knows besides, for the message.

        Raises:
            UsageError: there is no such budget, or its value cannot be parsed.
        """
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                all_names = [*others, *known]
                raise UsageError(
                    f"there is no budget {name!r}: expected {', '.join(all_names)}."
                    f"{did_you_mean(name, all_names)}"
                )
        values = {name: value for name, value in given.items() if value is not None}
        parsed: dict[str, Any] = {}
        for name, value in values.items():
            parsed[name] = (_PARSERS.get(name) or _count)(value)
        return cls(**parsed)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"expected a count, such as 3; found {value!r}")
    return value


def _amount(parse: Callable[[str], float]) -> Callable[[Any], Any]:
    return lambda value: parse(value) if isinstance(value, str) else value


def _seconds(value: Any) -> float:
    if value <= 0:
        raise UsageError(f"expected more than 0 seconds, found {value:g}")
    return float(value)


def _words(value: Any) -> tuple[str, ...]:
    return parse_words(value if isinstance(value, str) else ",".join(value))


_PARSERS: Mapping[str, Callable[[Any], Any]] = {  # the others are counts
    "max_memory": _amount(parse_bytes),
    "max_temporaries": _amount(parse_bytes),
    "max_flops": _amount(parse_count),
    "max_compile_seconds": _seconds,
    "forbid": _words,
}


@dataclass(frozen=True)
class Violation:
    """A budget that a program exceeds, or another reason why it is not accepted.

    Attributes:
        kind: "memory", "temporaries", "flops", "ops", "collectives", "compile-seconds", "forbid";
            "compile" where it could not be compiled.
        message: a sentence with the limit, the value, and the line with the largest part.
        found: the value: bytes, flops, seconds, or a count.
        allowed: the limit.
        place: the line of Python with the largest part.
    """

    kind: str
    message: str
    found: float | None = None
    allowed: float | None = None
    place: SourceLine | None = None

    def __str__(self) -> str:
        return self.message

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "kind": self.kind,
            "message": self.message,
            "found": self.found,
            "allowed": self.allowed,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
        }


@dataclass(frozen=True)
class Measured:
    """What is known of a program when its budgets are checked.

    Attributes:
        compiled: its optimized HLO and what is read from that.
        ops: of its StableHLO.
        peak_bytes, temporary_bytes: its memory; None where the compiler does not report it.
        compile_seconds: None where it was not compiled for this check.
        stablehlo: the program before any pass, as a module or as text; None where it is not kept.
        plain: compiled without our passes, for element types: a pass may use f64 on purpose.
    """

    compiled: Compiled
    ops: int | None = None
    peak_bytes: int | None = None
    temporary_bytes: int | None = None
    compile_seconds: float | None = None
    stablehlo: ir.Module | str | None = None
    plain: Compiled | None = None

    @classmethod
    def of(
        cls, compiled: Compiled, plain: Compiled | None = None, program: ir.Module | None = None
    ) -> Measured:
        """A program that was compiled for this check, with all its measurements."""
        memory = compiled.memory
        return cls(
            compiled,
            compiled.ops,
            memory.peak,
            memory.temporaries,
            compiled.build.seconds,
            program,
            plain,
        )

    @property
    def buffers(self) -> Sequence[Buffer]:
        """What is live at the peak; empty where it is not known."""
        return self.compiled.memory.buffers if self.compile_seconds is not None else ()

    @cached_property
    def text(self) -> str:
        """The StableHLO as text; empty where it is not kept."""
        return self.stablehlo if isinstance(self.stablehlo, str) else ""


def check(budgets: Budgets, program: Measured) -> list[Violation]:
    """Every budget that a program exceeds, and every one that cannot be checked."""
    return [*_exceeded(budgets, program), *_occurrences(budgets, program)]


_Limit = tuple[str, float | None, Callable[[], float | None], str, Callable[..., str]]
"""Kind, limit, measurement, unit, and how an amount is printed."""


def _exceeded(budgets: Budgets, program: Measured) -> Iterator[Violation]:
    """The limits on amounts. What is not needed is not computed."""
    rows: Sequence[
        tuple[str, float | None, Callable[[], float | None], str, Callable[..., str]]
    ] = (
        ("memory", budgets.max_memory, lambda: program.peak_bytes, "of peak memory", show_bytes),
        (
            "temporaries",
            budgets.max_temporaries,
            lambda: program.temporary_bytes,
            "of temporaries",
            show_bytes,
        ),
        ("ops", budgets.max_ops, lambda: program.ops, "StableHLO ops", str),
        ("flops", budgets.max_flops, lambda: program.compiled.totals.flops, "flops", show_count),
        (
            "collectives",
            budgets.max_collectives,
            lambda: sum(each.times for each in program.compiled.collectives),
            "collectives",
            "{:g}".format,
        ),
        (
            "compile-seconds",
            budgets.max_compile_seconds,
            lambda: program.compile_seconds,
            "seconds to compile",
            "{:.3g}".format,
        ),
    )
    for kind, allowed, measure, unit, show in rows:
        if allowed is None:
            continue
        found = measure()
        if found is None:
            what = unit.removeprefix("of ")
            yield Violation(kind, f"{what}: not available, so the budget cannot be checked")
        elif found > allowed:
            detail, place = _DETAILS.get(kind, _no_detail)(program)
            message = f"expected at most {show(allowed)} {unit}, found {show(found)}{detail}"
            yield Violation(kind, message, found, allowed, place)


_Detail = tuple[str, SourceLine | None]


def _no_detail(_: Measured) -> _Detail:
    return "", None


def _largest_buffers(program: Measured) -> _Detail:
    """The largest buffer, and the largest that has a line."""
    placed = next((each for each in program.buffers if each.place), None)
    largest = dict.fromkeys(filter(None, (*program.buffers[:1], placed)))
    detail = f"; the largest: {', '.join(map(str, largest))}" if largest else ""
    return detail, placed.place if placed else None


def _costliest_kernel(program: Measured) -> _Detail:
    costs = [
        (flops_of(run.instruction).total * run.times, run) for run in program.compiled.executed
    ]
    most, run = max(costs, key=lambda each: each[0])
    return f"; {show_count(most)} of them {_where(run.instruction)}", run.instruction.place


def _largest_collectives(program: Measured) -> _Detail:
    found = program.compiled.collectives
    named = ", ".join(f"{each.kind} at {each.place or each.op_name}" for each in found[:3])
    return f": {named}", found[0].place


_DETAILS: Mapping[str, Callable[[Measured], _Detail]] = {
    "memory": _largest_buffers,
    "flops": _costliest_kernel,
    "collectives": _largest_collectives,
}


# -- forbidden words ------------------------------------------------------------------------------


def _occurrences(budgets: Budgets, program: Measured) -> Iterator[Violation]:
    """The forbidden words that occur, each where its kind is looked for."""
    for word in budgets.forbid:
        if is_op(word):
            yield from _in_stablehlo(word, program)
        elif word not in ELEMENT_TYPES:
            yield from _in_hlo(word, program.compiled.module)
        elif program.text:
            count = len(
                re.findall(rf"(?:tensor<|[\d?]x){re.escape(mlir_type(word))}[>,]", program.text)
            )
            placed = list(_in_hlo(word, program.compiled.module)) if count else []
            yield from placed[:1] or ([_forbidden(word, count)] if count else [])
        else:
            yield from _in_hlo(word, (program.plain or program.compiled).module)


def _forbidden(
    word: str, count: int, detail: str = "", place: SourceLine | None = None
) -> Violation:
    times = "once" if count == 1 else f"{count} times"
    return Violation("forbid", f"forbidden {word} occurs {times}{detail}", count, 0, place)


def _in_stablehlo(word: str, program: Measured) -> Iterator[Violation]:
    """The ops of that name, as the user wrote them: not what a pass made."""
    if isinstance(program.stablehlo, ir.Module):
        ops = [op for op in walk(program.stablehlo.operation) if op.operation.name == word]
        place = next(filter(None, map(_line_of_op, ops)), None)
        count = len(ops)
    else:
        place = None
        count = len(re.findall(rf"(?<![\w.]){re.escape(word)}(?![\w.])", program.text))
    if count:
        first = f"; the first at {place}" if place else ""
        yield _forbidden(word, count, f" in the program{first}", place)


def _line_of_op(op: ir.OpView) -> SourceLine | None:
    """The line of an op; of a call of its function where the op itself has none."""
    place = innermost_user_line(SourceLine(*frame) for frame in reversed(frames_of(op.location)))
    outer = op.operation.parent
    while place is None and outer is not None and outer.name != "func.func":
        outer = outer.parent
    if place is not None or outer is None:
        return place
    name = ir.StringAttr(outer.attributes["sym_name"]).value
    calls = (each for each in walk(outer.parent) if each.operation.name == "func.call")
    own = (call for call in calls if ir.FlatSymbolRefAttr(call.attributes["callee"]).value == name)
    return next(filter(None, map(_line_of_op, own)), None)


def _in_hlo(word: str, module: Module) -> Iterator[Violation]:
    found = list(_matching(word, module))
    if found:
        largest = max(found, key=lambda each: each.shape.bytes)
        detail = f"; the largest: {largest.shape} {_where(largest)}"
        yield _forbidden(word, len(found), detail, largest.place)


def _matching(word: str, module: Module) -> Iterator[Instruction]:
    for computation in module.computations.values():
        for instruction in computation.instructions:
            if _is_named(word, instruction):
                yield instruction


def _is_named(word: str, instruction: Instruction) -> bool:
    if word in ELEMENT_TYPES:
        return any(leaf.element_type == word for leaf in instruction.shape.leaves)
    kind = kind_of(instruction)
    if kind is not None:
        return word in (kind, COLLECTIVES)
    if word == "custom-call":
        return instruction.opcode == word and not is_free(instruction)
    name = stablehlo_name(instruction)
    is_known = instruction.opcode != "custom-call" or is_library(instruction)
    if name in _NAMED_BY_OP and is_known:
        return word == _NAMED_BY_OP[name]
    return instruction.opcode == word


_NAMED_BY_OP = {
    "dot_general": "dot",
    "convolution": "convolution",
    "triangular_solve": "triangular-solve",
    "cholesky": "cholesky",
    "sort": "sort",
}
"""Ops that a compiler may write as another opcode, with the opcode that `--forbid` names."""


def _where(instruction: Instruction) -> str:
    name = f"({instruction.op_name or instruction.name})"
    return f"at {instruction.place} {name}" if instruction.place else f"in {name}"
