"""The line of a kernel that lost its metadata in XLA: found by its opcode, shapes and operands.

XLA:CPU rewrites a convolution of one dimension, the gradient of a convolution or a large reduction
into instructions without a name stack. The module that was lowered still has the op: it reads and
writes arrays of as many elements. Of several such ops, those are left out that the executable has
under their own name, then those that read other arguments of the program. If ops of several lines
remain, the line is unknown. The line that reads the result is never taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from ...cost.formulas import names
from ...errors import JxcError
from ...hlo import Instruction, SourceLine
from ...hlo.frames import place_in
from ...hlo.work import stablehlo_name
from ...ir.locations import frames_of, inline_calls, path_of, scopes_of
from ...ir.module import clone_module, main_of, walk
from ...source import innermost_library_line

_REDUCTIONS = ("reduce", "reduce_window", "select_and_scatter")
_SOURCES = {
    "convolution": ("convolution", "dot_general"),
    "dot_general": ("dot_general", "convolution", "triangular_solve", "cholesky"),
    "reduce_window": _REDUCTIONS,
    "reduce": (*_REDUCTIONS, "dot_general"),
    "scatter": ("scatter", "select_and_scatter"),
    "gather": ("gather", "dynamic_slice"),
    "sort": ("sort", "top_k"),
    "top_k": ("sort", "top_k"),
    "fft": ("fft",),
}
"""The ops of StableHLO out of which XLA makes an instruction, by StableHLO's names."""

MOVEMENT = names(
    "bitcast broadcast broadcast_in_dim concatenate convert copy iota pad reshape reverse slice "
    "transpose"
)
"""Instructions that XLA adds to change a layout or a type."""


class Origin(NamedTuple):
    """Where an op comes from.

    Attributes:
        line: the user's line; None if unknown.
        library: where in a library the op was traced, such as "flax/linen/linear.py:271"; empty if
            the user's own line calls JAX.
        scopes: the named scopes around it, the outermost first.
    """

    line: SourceLine | None
    library: str
    scopes: tuple[str, ...]


NOWHERE = Origin(None, "", ())
"""The origin of what has no line that is known."""


def origin_of(stack: Sequence[SourceLine], op_name: str) -> Origin:
    """The origin of an op with these frames, the innermost first, and this name stack."""
    library = innermost_library_line(reversed(stack)) if stack else ""
    return Origin(place_in(stack), library, tuple(scopes_of(op_name)))


@dataclass(frozen=True)
class LoweredOp:
    """An op of a module as JAX lowered it.

    Attributes:
        name: without the dialect.
        path: its name stack.
        origin: its line and scopes.
        operands, results: the elements of each that has more than one, the largest first.
        body: the last op of its region, such as "add" in a sum; empty without a region.
        arguments: the numbers of the program's arguments that it reads, moved at most.
    """

    name: str
    path: str
    origin: Origin
    operands: tuple[int, ...]
    results: tuple[int, ...]
    body: str
    arguments: frozenset[int]


class LoweredOps:
    """The ops of a module as JAX lowered it.

    Args:
        module: which is not changed.
    """

    def __init__(self, module: ir.Module) -> None:
        copied = clone_module(module)
        with copied.context:
            inline_calls(copied.operation)
            main = main_of(copied)
            entry = main.regions[0].blocks[0] if main is not None else None
            self._ops = [_described(op, entry) for op in walk(copied.operation) if op.results]

    def source_of(
        self,
        instruction: Instruction,
        arguments: frozenset[int],
        named: Container[tuple[str, str]],
    ) -> Origin | None:
        """The origin of an instruction without metadata.

        `NOWHERE` if ops of several lines may have become it, and None if there is no such op.

        Args:
            instruction: of the optimized HLO, one for which `has_source`.
            arguments: the numbers of the program's arguments that its kernel reads.
            named: StableHLO's name and the name stack of each instruction that has one.
        """
        name, sizes = stablehlo_name(instruction), _sizes_of(instruction)
        region = instruction.callee("to_apply")
        body = stablehlo_name(region.root) if region else ""
        found = [op for op in self._ops if _may_become(op, name, *sizes)]
        for is_better in (
            lambda op: (name, op.path) not in named,
            lambda op: (op.operands, op.results) == sizes,
            lambda op: op.body == body,
            lambda op: op.arguments == arguments,
        ):
            if len({op.origin.line for op in found}) > 1:
                found = [op for op in found if is_better(op)] or found
        return _common([op.origin for op in found]) if found else None

    def only_reader(self, argument: int) -> Origin:
        """The origin of the ops that read an argument of the program, if all are on one line."""
        readers = [op for op in self._ops if argument in op.arguments and op.name not in MOVEMENT]
        return _common([op.origin for op in readers])


def _common(origins: Sequence[Origin]) -> Origin:
    """What the origins of several ops on one line have in common; none for several lines."""
    if len({origin.line for origin in origins}) != 1:
        return NOWHERE
    libraries = {origin.library for origin in origins}
    ranks = zip(*(origin.scopes for origin in origins), strict=False)
    scopes = (rank[0] for rank in takewhile(lambda rank: len(set(rank)) == 1, ranks))
    library = origins[0].library if len(libraries) == 1 else ""
    return Origin(origins[0].line, library, tuple(scopes))


def has_source(instruction: Instruction) -> bool:
    """Whether an op is looked for that became this instruction: it is one of the costly ones."""
    return stablehlo_name(instruction) in _SOURCES


def lowered_ops(module_of: Callable[[], ir.Module | None]) -> LoweredOps | None:
    """The ops of a module; None if there is none, or it cannot be read."""
    try:
        module = module_of()
        return LoweredOps(module) if module is not None else None
    except (JxcError, ir.MLIRError, RuntimeError, ValueError):
        return None


# The module


def _described(op: ir.OpView, entry: Any) -> LoweredOp:
    path = path_of(op.location)
    stack = [SourceLine(*frame) for frame in frames_of(op.location)]
    return LoweredOp(
        name=op.operation.name.partition(".")[2],
        path=path,
        origin=origin_of(stack, path),
        operands=_sizes(_dims(value) for value in op.operands),
        results=_sizes(_dims(value) for value in op.results),
        body=_body_of(op),
        arguments=frozenset(_arguments(op.operands, entry)),
    )


def _body_of(op: ir.OpView) -> str:
    blocks = op.regions[0].blocks if len(op.regions) else ()
    ops = [each.operation.name for block in blocks for each in block.operations]
    return ops[-2].partition(".")[2] if len(ops) > 1 else ""


def _dims(value: ir.Value) -> Sequence[int]:
    kind = value.type
    is_known = isinstance(kind, ir.RankedTensorType) and kind.has_static_shape
    return list(kind.shape) if is_known else ()


def _arguments(operands: Iterable[ir.Value], entry: Any) -> Iterator[int]:
    for value in operands:
        owner = value.owner
        while not isinstance(owner, ir.Block) and owner.name.partition(".")[2] in MOVEMENT:
            if not owner.operands:
                break
            value = owner.operands[0]
            owner = value.owner
        if isinstance(owner, ir.Block) and owner == entry:
            yield ir.BlockArgument(value).arg_number


def _sizes(shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sorted((size for size in map(math.prod, shapes) if size > 1), reverse=True))


# The executable


def _may_become(
    op: LoweredOp, name: str, operands: tuple[int, ...], results: tuple[int, ...]
) -> bool:
    """Whether XLA may have made an instruction out of an op.

    A part of a reduction has its own result, but reads all that the reduction reads. The maxima in
    the windows of a `select_and_scatter` are as many as what it scatters. A convolution may read
    padded arrays.
    """
    if op.name not in _SOURCES[name] or op.origin.line is None:
        return False
    if op.name == "select_and_scatter":
        return results[:1] == op.operands[1:2]
    if name in _REDUCTIONS and op.name in _REDUCTIONS:
        return bool(operands) and operands[0] in op.operands[:1]
    return results == op.results and bool({*operands} & {*op.operands})


def _sizes_of(instruction: Instruction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    operands = (leaf.dims for each in instruction.operands for leaf in each.shape.leaves)
    return _sizes(operands), _sizes(leaf.dims for leaf in instruction.shape.leaves)


_DEEPEST = 16  # fusions and movements through which an operand is followed


def arguments_of(instruction: Instruction, depth: int = 0) -> frozenset[int]:
    """The numbers of the program's arguments that an instruction reads, moved at most."""
    found: set[int] = set()
    for operand in instruction.operands:
        if operand.opcode == "parameter" and operand.computation.is_entry:
            found.add(int(operand.literal))
        elif depth < _DEEPEST and only_moves(operand):
            found |= arguments_of(operand, depth + 1)
    return frozenset(found)


def only_moves(instruction: Instruction) -> bool:
    """Whether an instruction, or all in a fusion, changes shapes, layouts and types at most."""
    if instruction.fused is None:
        return stablehlo_name(instruction) in MOVEMENT
    inside = (each for each in instruction.fused.instructions if each.opcode != "parameter")
    return all(each.opcode == "constant" or only_moves(each) for each in inside)
