"""Checks that a program with a plan computes the same, before the plan is reported."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...check.compare import Deadline
from ...check.modules import main_type
from ...check.numbering import is_same_by_numbering
from ...check.rebuild import NotValid, rebuild
from ...check.rebuild_types import Change
from ...check.verify import verify_modules
from ...compiled.replicated import global_arguments
from ...cost.liveness import Timeline
from ...errors import JxcError
from ...ir import clone_module
from ...ir.bounds import trip_count
from ...ir.locations import INLINE, inline_calls
from ...ir.module import main_of, walk
from ...ir.shardings import PARTITIONS, SHARDY
from ...ir.values import shape_of
from ...passes.microbatch import split_analysis
from ...passes.microbatch.batch import batch_candidates
from ...pipeline import make_pipeline, run_pipeline
from ...pipeline.native import run_native
from ...rewrite import PassContext, reassociates
from ...units import counted, show_seconds
from .timed import is_run_within

_MOST_BYTES = 2**20
"""The most bytes of arguments with which results are compared; larger sizes are reduced first."""

_SECONDS = 30.0
"""The time for comparing results."""

_LONGEST = 1.0
"""The seconds of one run of a program whose results are compared; a comparison takes about 50."""

_LONGEST_MEASURED, _MOST_MEASURED = 3.0, 2
"""The seconds of one run of a program that was measured, and how many are measured at most."""

_SMALL = 16
"""Sizes that are not reduced."""

_SIDES = (16, 32, 64, 128)
"""The largest sizes of examples to try. Networks halve images several times, so that most are valid
for multiples of 32."""

_FACTORS = (32, 16, 8, 4, 2)
"""The numbers by which all sizes are divided together, as one is often a product of others."""


def check_plan(module: ir.Module, again: str, parts: int, batch: str, target: str) -> str:
    """How a plan was shown to keep the results of a program.

    Values that are computed again in straight-line code are proved right by value numbering. Loops
    are rewritten, and a batch in parts is summed in another order: results are compared on random
    arguments, of reduced sizes if the program is large. A program over a mesh runs on one device
    for that, since shardings do not change what is computed.

    Args:
        module: the program.
        again: the pipeline that computes values again, as text; may be empty.
        parts: of the batch.
        batch: the arguments that have it, as for `microbatch`; found if empty.
        target: the hardware, as text.

    Raises:
        JxcError: results differ.
    """
    size = batch_size(module, batch) if parts > 1 else 0
    in_parts = in_parts_pass(parts, _numbers(module, batch, parts) if parts > 1 else "")
    split = rewritten(in_parts, target, module) if parts > 1 else module
    found = []
    if again and is_same_by_numbering(split, rewritten(again, target, split)):
        found.append("the same ops on the same values (exact), by value numbering")
        again = ""
    if again or parts > 1:
        passes = partial(rewritten, ",".join(filter(None, [in_parts, again])), target)
        whole = without_shardings(module)
        compared = _compared(whole, _reduced(whole, size, parts, _examples(whole, batch)), passes)
        found.insert(0, compared if again else f"split batch: {compared}")
    return "; ".join(found)


def in_parts_pass(parts: int, batch: str) -> str:
    """The pass that splits a batch into parts, as text; empty for one part."""
    named = f" arguments={batch}" if batch else ""
    return f"microbatch{{steps={parts}{named}}}" if parts > 1 else ""


def _numbers(module: ir.Module, batch: str, parts: int) -> str:
    """The numbers of the arguments that are split, which may be others in smaller versions."""
    copy = clone_module(module)
    with copy.context:
        return ",".join(map(str, split_analysis(copy.operation, batch, 0, parts).batch))


def _examples(module: ir.Module, batch: str) -> list[int]:
    """The numbers of the arguments that have the examples of the batch; none if not known."""
    main = main_of(module)
    with contextlib.suppress(JxcError):
        return batch_candidates(main, batch, 0)[0] if main is not None else []
    return []


def batch_size(module: ir.Module, batch: str) -> int:
    """The size of the batch.

    Raises:
        UsageError: `batch` names no argument.
        JxcError: no argument is named, and none is found, or several may be meant.
    """
    main = main_of(module)
    if main is None:
        raise JxcError("the module has no function @main, whose batch to split")
    (first, *_), *_ = batch_candidates(main, batch, 0)
    return shape_of(main.regions[0].blocks[0].arguments[first])[0]


def rewritten(pipeline: str, target: str, module: ir.Module) -> ir.Module:
    """A copy of a module after a pipeline."""
    after = clone_module(module)
    run_pipeline(after, make_pipeline(pipeline), PassContext(target))
    return after


def without_shardings(module: ir.Module) -> ir.Module:
    """The program for one device, if it is split by shardings of its arguments and results alone.

    A module with other ops of Shardy than meshes is returned as it is.
    """
    ops = [op for op in walk(module.operation) if op.operation.name.startswith("sdy.")]
    if not ops or any(op.operation.name != "sdy.mesh" for op in ops):
        return module
    copy = clone_module(module)
    with copy.context, ir.Location.unknown():
        for op in [op for op in walk(copy.operation) if op.operation.name == "sdy.mesh"]:
            op.operation.erase()
        for op in walk(copy.operation):
            for key in ("arg_attrs", "res_attrs"):
                if key in op.attributes:
                    op.attributes[key] = ir.ArrayAttr.get(_unsharded(op.attributes[key]))
            if SHARDY in op.attributes:
                del op.attributes[SHARDY]
        one = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
        copy.operation.attributes[PARTITIONS] = one
    return copy


def _unsharded(given: ir.Attribute) -> list[ir.Attribute]:
    """The attributes of arguments or results without their shardings."""
    each = map(ir.DictAttr, ir.ArrayAttr(given))
    return [ir.DictAttr.get({n.name: n.attr for n in own if n.name != SHARDY}) for own in each]


def _compared(
    module: ir.Module, smaller: Iterable[ir.Module], apply: Callable[[ir.Module], ir.Module]
) -> str:
    """Compare the results of a program of reduced sizes with those after the measures."""
    reason = ""
    for before, why_not in _runnable(smaller):
        if why_not:
            reason = why_not
            continue
        try:
            after = apply(before)
        except JxcError as error:
            reason = f"the plan does not apply to reduced sizes ({error.__cause__ or error})"
            continue
        deadline = Deadline(_SECONDS)
        found = verify_modules(before, after, contract=reassociates, deadline=deadline)[0]
        if not found.report.ran:
            return f"no: {found}"
        if not found.agrees:
            raise JxcError(
                f"the program with this plan computes something else: please report this; {found}"
            )
        sizes = "" if _bytes(before) == _bytes(module) else ", of reduced sizes"
        drawn = counted(found.draws, "set")
        return f"equal results, up to rounding, on {drawn} of arguments{sizes}"
    return f"no, since {reason}"


def _runnable(programs: Iterable[ir.Module]) -> Iterator[tuple[ir.Module, str]]:
    """Programs, and why a run here takes too long; empty for those to run.

    First those whose price is low. Then those of the least prices are measured, since a price of
    convolutions with groups can be 40 times too high.
    """
    slow = list[tuple[float, ir.Module]]()
    for each in programs:
        if (seconds := _seconds_here(each)) > _LONGEST:
            slow.append((seconds, each))
        else:
            yield each, ""
    for seconds, each in sorted(slow, key=lambda pair: pair[0])[:_MOST_MEASURED]:
        if is_run_within(each, _LONGEST_MEASURED):
            yield each, ""
        else:
            yield each, f"a run takes about {show_seconds(seconds)} on this CPU"


def _seconds_here(module: ir.Module) -> float:
    """The price of a run on this machine's CPU."""
    copy, context = clone_module(module), PassContext("cpu")
    with copy.context:
        inline_calls(copy.operation)
        main = main_of(copy)
        assert main is not None
        return Timeline(main.regions[0].blocks[0], context.device, context.rates).seconds


def _bytes(module: ir.Module) -> int:
    return sum(size for _, size in global_arguments(module))


def _reduced(
    module: ir.Module, batch: int = 0, multiple: int = 1, examples: Sequence[int] = ()
) -> Iterator[ir.Module]:
    """Versions of a program with smaller sizes, as far as they are valid, the smallest first.

    Most sizes are divided by the same number, since one is often a product of others. What is large
    still becomes small by itself. Last come versions with fewer and smaller examples, where images
    have sizes that features have too. The size of the batch stays a multiple of `multiple`.
    """
    whole = clone_module(module)
    run_native(INLINE, whole)
    if _bytes(whole) <= _MOST_BYTES:
        yield whole
    loops = [op for op in walk(whole.operation) if isinstance(op, hlo.WhileOp)]
    kept = frozenset([batch, *filter(None, map(trip_count, loops))])
    for factor in _FACTORS:
        with contextlib.suppress(NotValid):
            small = rebuild(whole, _Divided(factor=factor, kept=kept))
            yield _with_small_sizes(small, batch, multiple, kept)
    yield _with_small_sizes(whole, batch, multiple, kept)
    for side in _SIDES if examples else ():
        with contextlib.suppress(NotValid):
            yield rebuild(whole, _smaller_examples(whole, examples, 2 * multiple, side))


def _with_small_sizes(
    small: ir.Module, batch: int, multiple: int, kept: Collection[int]
) -> ir.Module:
    kinds = [k for k in main_type(small).inputs if isinstance(k, ir.RankedTensorType)]
    sizes = sorted({size for kind in kinds for size in kind.shape}, reverse=True)
    for number, size in enumerate(sizes):
        if size <= _SMALL or _bytes(small) <= _MOST_BYTES:
            break
        to = _SMALL - number % 4
        if size == batch:
            to = -(-to // multiple) * multiple
        elif size in kept:  # a number of iterations, which stays as it is
            continue
        with contextlib.suppress(NotValid):
            small = rebuild(small, Change(extents={size: to}))
    return small


@dataclass(frozen=True)
class _Divided(Change):
    """Sizes divided by a number, and those beside a multiple of it too, but for small ones."""

    factor: int = 1
    kept: Collection[int] = ()

    def extent(self, extent: int) -> int:
        if extent < _FACTORS[0] or extent in self.kept:
            return extent
        for more in (0, 1, -1):
            if (extent + more) % self.factor == 0:
                return (extent + more) // self.factor - more
        return extent


@dataclass(frozen=True)
class _Following(Change):
    """Arguments of other shapes, with the shapes that follow from them.

    Attributes:
        seen: the new shapes by old, of what was built so far.
    """

    seen: dict[tuple[int, ...], list[int]] = field(default_factory=dict)

    def built(self, op: ir.OpView, results: Sequence[ir.Value]) -> None:
        for old, new in zip(op.results, results, strict=True):
            if isinstance(new.type, ir.RankedTensorType):
                self.seen[shape_of(old)] = list(shape_of(new))

    def shape(self, shape: Sequence[int]) -> list[int]:
        return self.seen.get(tuple(shape), list(shape))


def _smaller_examples(
    module: ir.Module, examples: Sequence[int], most: int, side: int
) -> _Following:
    """The change to at most so many examples, whose largest size becomes `side`.

    The sizes of more than `_SMALL` become smaller in proportion.
    """
    inputs = main_type(module).inputs
    shapes = {number: tuple(ir.RankedTensorType(inputs[number]).shape) for number in examples}
    largest = max((size for _, *sizes in shapes.values() for size in sizes), default=side)

    def reduced(size: int) -> int:
        return size * side // largest if size > _SMALL and side < largest else size

    arguments = {
        number: [min(batch, most), *map(reduced, sizes)]
        for number, (batch, *sizes) in shapes.items()
    }
    seen = {shapes[number]: shape for number, shape in arguments.items()}
    return _Following(arguments=arguments, seen=seen)
