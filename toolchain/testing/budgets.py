"""Budgets for one program: ops, collectives, flops, memory, and what must not be in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from ..backend.lowered import Lowered, lower
from ..backend.targets import find_target
from ..errors import JxcError, UsageError, did_you_mean
from ..ir import count_ops
from ..pipeline import PipelineLike
from ..tools.report.budgets import Budgets, check
from ..tools.report.forbidden import ELEMENT_TYPES, is_op, parse_words
from ..tools.report.report import Compiled, read_optimised
from ..units import parse_bytes, parse_count, show_bytes, show_count


@dataclass(frozen=True)
class Limits:
    """What one program may take; None for as much as it likes.

    Attributes:
        max_ops: StableHLO ops, as JAX lowered it and after passes, if there are any.
        max_collectives: in the optimised HLO, as often as they run.
        max_flops: of one run.
        max_memory: bytes at the peak.
        max_temporaries: bytes that are neither arguments nor results.
        forbid: opcodes of HLO, element types, `collectives`, ops of StableHLO: see `Budgets.parse`.
    """

    max_ops: int | None = None
    max_collectives: int | None = None
    max_flops: float | None = None
    max_memory: int | None = None
    max_temporaries: int | None = None
    forbid: tuple[str, ...] = ()

    @classmethod
    def parse(cls, given: Mapping[str, Any], others: Sequence[str] = ()) -> Limits:
        """Limits by name, as a test writes them: 1024 or "1KiB", 2e12 or "2T", "f64,all-gather".

        `others` are names that are known besides, to whoever calls.

        Raises:
            UsageError: there is no such budget, or its value cannot be understood.
        """
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                all_names = [*others, *known]
                close = did_you_mean(name, all_names)
                raise UsageError(
                    f"there is no budget {name!r}: expected {', '.join(all_names)}.{close}"
                )
        return cls(**{name: _PARSERS.get(name, _count)(value) for name, value in given.items()})


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"expected a number of them, found {value!r}")
    return value


def _amount(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda value: parse(value) if isinstance(value, str) else value


def _words(value: Any) -> tuple[str, ...]:
    return parse_words(value if isinstance(value, str) else ",".join(value))


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "max_flops": _amount(parse_count),
    "max_memory": _amount(parse_bytes),
    "max_temporaries": _amount(parse_bytes),
    "forbid": _words,
}


@dataclass(frozen=True)
class Program:
    """What is known of a compiled program.

    Attributes:
        name: for messages.
        ops: of StableHLO; None where it was not lowered.
        peak_bytes, temporary_bytes: None where the compiler tells nothing.
        stablehlo: as JAX lowered it.
        hlo: after XLA optimised it.
    """

    name: str
    ops: int | None
    peak_bytes: int | None
    temporary_bytes: int | None
    stablehlo: str = field(repr=False)
    hlo: str = field(repr=False)

    @cached_property
    def compiled(self) -> Compiled:
        """What can be read from the HLO."""
        return read_optimised(self.hlo, find_target("cpu"))


def exceeded(limits: Limits, program: Program) -> list[str]:
    """Every budget that a program exceeds, a sentence each."""
    return [f"{program.name}: {said}" for said in _exceeded(limits, program)]


def _exceeded(limits: Limits, program: Program) -> Iterator[str]:
    rows = (
        ("StableHLO ops", limits.max_ops, program.ops, str),
        ("of memory at its peak", limits.max_memory, program.peak_bytes, show_bytes),
        ("of temporaries", limits.max_temporaries, program.temporary_bytes, show_bytes),
    )
    for what, allowed, found, show in rows:
        if allowed is not None and found is None:
            yield f"nothing is known of its {what.removeprefix('of ')}, so that no budget holds"
        elif allowed is not None and found is not None and found > allowed:
            yield f"expected at most {show(allowed)} {what}, found {show(found)}"
    if limits.max_collectives is not None:
        yield from _collectives(limits.max_collectives, program)
    if limits.max_flops is not None or limits.forbid:
        yield from _of_hlo(limits, program)


def _collectives(allowed: int, program: Program) -> Iterator[str]:
    found = program.compiled.collectives
    count = sum(each.times for each in found)
    if count > allowed:
        kinds = ", ".join(f"{each.kind} at {each.place or each.op_name}" for each in found[:3])
        yield f"expected at most {allowed} collectives, found {count:g}: {kinds}"


def _of_hlo(limits: Limits, program: Program) -> Iterator[str]:
    """Flops and opcodes of the HLO; element types of what the user wrote, not of our passes."""
    types = [word for word in limits.forbid if word in ELEMENT_TYPES]
    ops = [word for word in limits.forbid if is_op(word)]
    opcodes = tuple(word for word in limits.forbid if word not in (*types, *ops))
    for word in ops:
        if found := len(re.findall(rf"(?<![\w.]){re.escape(word)}(?![\w.])", program.stablehlo)):
            yield f"has {word} {found} times in the program, allowed is none"
    for word in types:
        if found := _types(word, program.stablehlo):
            placed = check(Budgets(forbid=(word,)), program.compiled)
            yield str(placed[0]) if placed else f"has {word} {found} times, allowed is none"
    if limits.max_flops is not None and program.compiled.totals.flops > limits.max_flops:
        found_flops = show_count(program.compiled.totals.flops)
        yield f"expected at most {show_count(limits.max_flops)} flops, found {found_flops}"
    yield from map(str, check(Budgets(forbid=opcodes), program.compiled))


def _types(word: str, stablehlo: str) -> int:
    return len(re.findall(rf"(?:tensor<|[\d?]x){re.escape(_mlir_type(word))}[>,]", stablehlo))


def _mlir_type(word: str) -> str:
    """MLIR's name of an element type that HLO calls `word`."""
    if word in _OTHERWISE:
        return _OTHERWISE[word]
    if word.startswith(("f4", "f8")):
        return word[:2] + word[2:].upper()
    if word[0] in "su":
        return {"s": "i", "u": "ui"}[word[0]] + word[1:]
    return word


_OTHERWISE = {"pred": "i1", "c64": "complex<f32>", "c128": "complex<f64>"}


class BudgetExceeded(JxcError, AssertionError):
    """A program takes more than it may."""


def check_budget(
    fn: Any,
    /,
    *args: Any,
    pipeline: PipelineLike | None = None,
    target: str | None = None,
    max_ops: int | None = None,
    max_collectives: int | None = None,
    max_flops: float | str | None = None,
    max_memory: int | str | None = None,
    max_temporaries: int | str | None = None,
    forbid: str | tuple[str, ...] = (),
    **kwargs: Any,
) -> None:
    """See that a function, compiled for these arguments, keeps to budgets; it is not run.

    Args:
        fn: a function, what `jax.jit` made of one, or a `jxc.lower`ed one.
        args, kwargs: arrays or `jax.ShapeDtypeStruct`s, or pytrees of them.
        pipeline: passes to run first, such as "O2".
        target: what it is compiled for, which need not be here: "gpu:h100", "tpu:v5e:2x2".
        max_ops: StableHLO ops, after the passes.
        max_collectives: in the optimised HLO, as often as they run.
        max_flops: of one run, such as 2e12 or "2T".
        max_memory: bytes at the peak, such as "12GiB".
        max_temporaries: bytes that are neither arguments nor results.
        forbid: opcodes of HLO, element types, `collectives` and ops of StableHLO:
            "f64,all-gather,custom-call,stablehlo.sort".

    Raises:
        AssertionError: a budget is exceeded; the message says by how much and where.
        UsageError: there is no budget, or one cannot be understood.
        JxcError: the function cannot be traced or compiled.
    """
    __tracebackhide__ = True  # pytest shows the test's own line
    given = {
        "max_ops": max_ops,
        "max_collectives": max_collectives,
        "max_flops": max_flops,
        "max_memory": max_memory,
        "max_temporaries": max_temporaries,
        "forbid": forbid or None,
    }
    limits = Limits.parse({name: value for name, value in given.items() if value is not None})
    if limits == Limits():
        raise UsageError("check_budget: expected a budget, such as max_ops=100; found none")
    plain = lowered_of(fn, args, kwargs, target)
    program = _measured(plain, pipeline, target, name_of(fn))
    if wrong := exceeded(limits, program):
        raise BudgetExceeded("\n".join(wrong))


def lowered_of(
    fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], target: str | None
) -> Lowered:
    """A function lowered for a target; what is lowered already, as it is."""
    lowered = fn if isinstance(fn, Lowered) else lower(fn, *args, **kwargs)
    if isinstance(fn, Lowered) and (args or kwargs):
        raise UsageError("a lowered function has its arguments: give none")
    if target is None or find_target(target).platform == lowered.platform:
        return lowered
    return lowered.for_target(target)


def name_of(fn: Any) -> str:
    """What a function is called in messages."""
    return getattr(fn, "__name__", type(fn).__name__)


def _measured(
    plain: Lowered, pipeline: PipelineLike | None, target: str | None, name: str
) -> Program:
    lowered = plain if pipeline is None else plain.opt(pipeline, target=target)
    made = lowered.compile(target)
    memory = made.memory()
    held = memory["argument"] + memory["output"] - memory["alias"]
    return Program(
        name,
        ops=count_ops(lowered.module),
        peak_bytes=held + memory["temp"],
        temporary_bytes=memory["temp"],
        stablehlo=plain.as_text(),
        hlo=made.as_text("hlo"),
    )
