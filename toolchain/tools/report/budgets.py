"""Budgets of one program, and what exceeds them.

One `Budgets` and one `check` serve `jxc report` and `jxc compile`, the pytest marker, and
`jxc.testing.check_budget`. A `Measured` holds the program's measurements: its optimized HLO, its
StableHLO, and the compiler's numbers. Any of these may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

from jaxlib.mlir import ir

from ...compiled.collectives import kind_of
from ...compiled.program import Compiled
from ...errors import UsageError, did_you_mean
from ...hlo import Instruction, Module, SourceLine
from ...hlo.work import flops_of, is_free, is_library, stablehlo_name
from ...ir import walk
from ...ir.locations import frames_of
from ...source import innermost_user_line
from ...units import parse_bytes, parse_count, show_bytes, show_count
from .forbidden import COLLECTIVES, ELEMENT_TYPES, is_op, mlir_type, parse_words


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
            others: further names that the caller accepts, for the message.

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
        return cls(**{name: _parse(name, value) for name, value in values.items()})


def _parse(name: str, value: Any) -> Any:
    match name:
        case "forbid":
            return parse_words(value if isinstance(value, str) else ",".join(value))
        case "max_memory" | "max_temporaries":
            return parse_bytes(value) if isinstance(value, str) else value
        case "max_flops":
            return parse_count(value) if isinstance(value, str) else value
        case "max_compile_seconds":
            if value <= 0:
                raise UsageError(f"expected more than 0 seconds, found {value:g}")
            return float(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"expected a count, such as 3; found {value!r}")
    return value


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
    """The measurements of a program that its budgets are checked against.

    Attributes:
        compiled: its optimized HLO and what is read from that.
        ops: the number of StableHLO ops.
        peak_bytes, temporary_bytes: its memory; None if the compiler does not report it.
        compile_seconds: None if it was not compiled for this check.
        stablehlo: the program before any pass, as a module or as text; None if it is not kept.
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
        peak, temporaries = compiled.memory.peak, compiled.memory.temporaries
        seconds = compiled.build.seconds
        return cls(compiled, compiled.ops, peak, temporaries, seconds, program, plain)


def check(budgets: Budgets, program: Measured) -> list[Violation]:
    """Every budget that a program exceeds, and every one that cannot be checked."""
    found = []
    for kind, measure, unit, show, detail_of in _AMOUNTS:
        allowed = getattr(budgets, f"max_{kind.replace('-', '_')}")
        value = None if allowed is None else measure(program)  # only what is needed
        if allowed is not None and value is None:
            what = unit.removeprefix("of ")
            message = f"{what}: not available, so the budget cannot be checked"
            found.append(Violation(kind, message))
        elif value is not None and value > allowed:
            detail, place = detail_of(program)
            message = f"expected at most {show(allowed)} {unit}, found {show(value)}{detail}"
            found.append(Violation(kind, message, value, allowed, place))
    for word in budgets.forbid:
        found += _occurrences(word, program)
    return found


_Detail = tuple[str, SourceLine | None]
"""The largest part of an amount, for the end of a message, and its line."""


def _largest_buffers(program: Measured) -> _Detail:
    """The largest buffer, and the largest that has a line."""
    is_known = program.compile_seconds is not None
    buffers = program.compiled.memory.buffers if is_known else ()
    placed = next((each for each in buffers if each.place), None)
    largest = dict.fromkeys(filter(None, (*buffers[:1], placed)))
    detail = f"; the largest: {', '.join(map(str, largest))}" if largest else ""
    return detail, placed.place if placed else None


def _costliest_kernel(program: Measured) -> _Detail:
    runs = program.compiled.executed
    costs = [(flops_of(run.instruction).total * run.times, run.instruction) for run in runs]
    most, kernel = max(costs, key=lambda each: each[0])
    return f"; {show_count(most)} of them {_where(kernel)}", kernel.place


def _largest_collectives(program: Measured) -> _Detail:
    found = program.compiled.collectives
    named = ", ".join(f"{each.kind} at {each.place or each.op_name}" for each in found[:3])
    return f": {named}", found[0].place


def _no_detail(_: Measured) -> _Detail:
    return "", None


_AMOUNTS: Sequence[
    tuple[
        str,
        Callable[[Measured], float | None],
        str,
        Callable[[Any], str],
        Callable[[Measured], _Detail],
    ]
] = (
    ("memory", lambda p: p.peak_bytes, "of peak memory", show_bytes, _largest_buffers),
    ("temporaries", lambda p: p.temporary_bytes, "of temporaries", show_bytes, _no_detail),
    ("ops", lambda p: p.ops, "StableHLO ops", str, _no_detail),
    ("flops", lambda p: p.compiled.totals.flops, "flops", show_count, _costliest_kernel),
    (
        "collectives",
        lambda p: sum(each.times for each in p.compiled.collectives),
        "collectives",
        "{:g}".format,
        _largest_collectives,
    ),
    (
        "compile-seconds",
        lambda p: p.compile_seconds,
        "seconds to compile",
        "{:.3g}".format,
        _no_detail,
    ),
)
"""Kind, measurement, unit, how an amount is printed, and what is added to the message."""


# -- forbidden words ------------------------------------------------------------------------------


def _occurrences(word: str, program: Measured) -> Iterator[Violation]:
    """The violation if a forbidden word occurs.

    Ops are counted in the StableHLO as the user wrote it, without what a pass made, element types
    in its text if that is kept, and everything else in the optimized HLO.
    """
    text = program.stablehlo if isinstance(program.stablehlo, str) else ""
    if is_op(word):
        yield from _in_stablehlo(word, program.stablehlo)
    elif word not in ELEMENT_TYPES:
        yield from _in_hlo(word, program.compiled.module)
    elif not text:
        yield from _in_hlo(word, (program.plain or program.compiled).module)
    elif found := re.findall(rf"(?:tensor<|[\d?]x){re.escape(mlir_type(word))}[>,]", text):
        placed = _in_hlo(word, program.compiled.module)
        yield next(placed, _forbidden(word, len(found)))


def _forbidden(
    word: str, count: int, detail: str = "", place: SourceLine | None = None
) -> Violation:
    times = "once" if count == 1 else f"{count} times"
    return Violation("forbid", f"forbidden {word} occurs {times}{detail}", count, 0, place)


def _in_stablehlo(word: str, program: ir.Module | str | None) -> Iterator[Violation]:
    place = None
    if isinstance(program, ir.Module):
        ops = [op for op in walk(program.operation) if op.operation.name == word]
        place = next(filter(None, map(_line_of_op, ops)), None)
        count = len(ops)
    else:
        count = len(re.findall(rf"(?<![\w.]){re.escape(word)}(?![\w.])", program or ""))
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
    instructions = chain.from_iterable(each.instructions for each in module.computations.values())
    found = [each for each in instructions if _is_named(word, each)]
    if found:
        largest = max(found, key=lambda each: each.shape.bytes)
        detail = f"; the largest: {largest.shape} {_where(largest)}"
        yield _forbidden(word, len(found), detail, largest.place)


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
