"""One program from several: variants of small programs that use each other's values.

Each small program is the case of one rule. Together they test situations that no case has: one rule
creates the pattern of the next, values in the middle of a pattern have other users, operands are
shared or equal. If no value has the type that a part needs, one is reshaped, sliced, broadcast or
converted; otherwise @main gets one more argument.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from random import Random

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from jxc.check.rebuild import NotValid
from jxc.check.rebuild_types import DYNAMIC, ranked
from jxc.ir import functions, walk
from jxc.ir.module import ops_of
from jxc.ir.values import element_type, is_used, shape_of

from .draws import COMPLEX, ELEMENTS, draw_elements, draw_extents
from .program import SeedProgram
from .variation import Variation, build_variant

_MOST_ELEMENTS = 480  # elements of a value: the interpreter is slow
_MOST_OPS = 40  # ops of one part
_MOST_RESULTS = 60
_NOT_RUN = re.compile(
    r"custom_call|stablehlo\.rng|optimization_barrier|collective|all_|replica|partition_id|feed"
    r"|send|recv|token|composite|func\.call|sdy\.|mhlo\.|\?|quant"
    r"|fft|cholesky|triangular|batch_norm|stablehlo\.map"
    r"|while"  # a loop may not terminate with other operands
)
_READS_BITS = re.compile(r"bitcast_convert|TOTALORDER|stablehlo\.sort")
"""Ops that show the bits of a NaN, which are unspecified for a computed one."""


def is_composable(program: SeedProgram) -> bool:
    """Whether a program can be a part of another: small, static, and run by the interpreter."""
    if len(functions(program.module)) != 1 or _NOT_RUN.search(str(program.module)):
        return False
    kinds = [kind for kind in program.types if isinstance(kind, ir.RankedTensorType)]
    if (
        len(kinds) < len(program.types)
        or sum(1 for _ in walk(program.module.operation)) > _MOST_OPS
    ):
        return False
    return all(_fits(k) and str(k.element_type) in ELEMENTS for k in kinds)


def compose(programs: Sequence[SeedProgram], random: Random, most_ops: int) -> ir.Module:
    """A verified program of connected variants of `programs`, in a separate context.

    Args:
        programs: programs that are composable; each may be used several times.
        random: the source of every choice.
        most_ops: the approximate maximum number of ops; most results have fewer.

    Raises:
        NotValid: no part could be added.
    """
    context = programs[0].module.context
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ([], []))
        composer = _Composer(main.add_entry_block(), random)
        wanted = 3 + int(most_ops * random.random() ** 2)
        for _ in range(wanted):
            if len(composer.block.operations) < wanted:
                composer.add(random.choice(programs))
        if not len(composer.block.operations):
            raise NotValid("no part is a valid program")
        composer.finish(main)
        module.operation.verify()
    return module


class _Composer:
    """The body of @main under construction, and the values that the next part may use."""

    def __init__(self, block: ir.Block, random: Random) -> None:
        self.block, self.random = block, random
        self.palette: dict[str, str] = {}  # element types that the parts have in common
        self.values: list[ir.Value] = []

    def add(self, program: SeedProgram) -> None:
        """Append a variant of a program, if the drawn one is valid."""
        try:
            part = build_variant(program, self._variation(program))
        except NotValid:
            return
        (block,) = functions(part)["main"].regions[0].blocks
        kinds = [value.type for op in block.operations for value in op.results]
        if not all(isinstance(kind, ir.RankedTensorType) and _fits(kind) for kind in kinds):
            return
        reads_bits = _READS_BITS.search(str(part)) is not None
        with ir.InsertionPoint(self.block):
            values = {v: self._operand(v.type, reads_bits) for v in block.arguments}
            for op in ops_of(block):
                copy = op.operation.clone()
                for each in (copy.opview, *walk(copy)):
                    for index, value in enumerate(each.operands):
                        if value in values:
                            each.operation.operands[index] = values[value]
                values.update(zip(op.results, copy.results, strict=True))
                self.values += copy.results

    def finish(self, main: func.FuncOp) -> None:
        """Return the unused values, so that little of the program is dead."""
        unused = [value for value in self.values if not is_used(value)]
        returned = (unused or self.values)[-_MOST_RESULTS:]
        with ir.InsertionPoint(self.block):
            func.ReturnOp(returned)
        kinds = [value.type for value in self.block.arguments], [v.type for v in returned]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*kinds))

    def _variation(self, program: SeedProgram) -> Variation:
        random = self.random
        kinds = [ir.RankedTensorType(kind) for kind in program.types]
        elements = list(dict.fromkeys(str(kind.element_type) for kind in kinds))
        images: dict[str, str] = {}
        if random.randrange(10) < 7:
            drawn = draw_elements(elements, random, mild=True)
            images = {name: self.palette.setdefault(name, drawn[name]) for name in elements}
            if set(COMPLEX) & {*images, *images.values()}:
                images = {}  # complex types and the types of their parts change only together
        sizes = sorted({size for kind in kinds for size in kind.shape if size != DYNAMIC})
        extents = draw_extents(sizes, True, random) if random.randrange(10) < 4 else {}
        wildness = random.choice((0.0, 0.0, 0.5, 1.0, 2.0))
        return Variation(random=random, elements=images, extents=extents, wildness=wildness)

    def _operand(self, kind: ir.RankedTensorType, reads_bits: bool) -> ir.Value:
        """A value of the type: existing, adapted from another type, or a new argument."""
        usable = (
            list(self.block.arguments) if reads_bits else self.values + list(self.block.arguments)
        )
        same = [value for value in usable if value.type == kind]
        if same and self.random.randrange(4):
            return same[-1] if self.random.randrange(5) < 2 else self.random.choice(same)
        if not reads_bits and self.random.randrange(5) < 3:
            self.random.shuffle(usable)
            for value in usable[:6]:
                if (made := _adapted(value, kind)) is not None:
                    return made
        return self.block.add_argument(kind, ir.Location.unknown())


def _adapted(value: ir.Value, kind: ir.RankedTensorType) -> ir.Value | None:
    """The value with another shape or element type, by one op; None if there is no such op."""
    shape, wanted = shape_of(value), tuple(kind.shape)
    if element_type(value) != kind.element_type:
        names = {str(element_type(value)), str(kind.element_type)}
        return hlo.convert(kind, value) if shape == wanted and not names & {*COMPLEX} else None
    if math.prod(shape) == math.prod(wanted):
        return hlo.reshape(kind, value)
    if not shape:
        return hlo.broadcast_in_dim(ranked(wanted, kind.element_type), value, [])
    if len(shape) == len(wanted) and all(n <= m for n, m in zip(wanted, shape, strict=True)):
        return hlo.slice(value, [0] * len(shape), list(wanted), [1] * len(shape))
    return None


def _fits(kind: ir.RankedTensorType) -> bool:
    return bool(kind.has_static_shape and math.prod(kind.shape) <= _MOST_ELEMENTS)
