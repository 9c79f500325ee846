"""Build a program again, op by op, with other sizes.

Arguments and constants get the types of a `Change`. Each other op is created with its new
operands, adapted attributes, and the result types that MLIR infers or `rebuild_types` computes.
`jxc reduce` and `jxc verify` change sizes this way. `scripts/variants` also draws element types,
constants, attributes and operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from ..errors import JxcError
from ..ir.module import terminator
from ..ir.values import element_type, is_used, shape_of
from .rebuild_types import (
    DYNAMIC,
    SHAPES,
    Attributes,
    Change,
    Values,
    like,
    ranked,
    resized_constant,
    result_types,
)


class NotValid(JxcError):
    """The change does not lead to a valid program."""


def rebuild(program: ir.Module, change: Change) -> ir.Module:
    """The program with the change, verified, in the same context.

    Raises:
        NotValid: the change does not lead to a valid program.
    """
    with program.context, ir.Location.unknown():
        module = ir.Module.create()
        for name, attribute in program.operation.attributes.items():
            module.operation.attributes[name] = attribute
        try:
            with ir.InsertionPoint(module.body):
                for op in program.body.operations:
                    if isinstance(op, func.FuncOp):
                        _Function(change).build(op)
                    else:
                        op.operation.clone()
            module.operation.verify()
        except (ir.MLIRError, ValueError, IndexError, OverflowError) as error:
            raise NotValid(str(error).strip().splitlines()[-1]) from error
        return module


class _Function:
    """One function being built."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.values: dict[ir.Value, ir.Value] = {}  # the new value for each old one
        self.made: list[ir.Value] = []  # new results in the function's own block

    def build(self, op: func.FuncOp) -> None:
        """Create a function again, with the result types that its ops now have."""
        inputs = [self.change.type(value.type) for value in op.arguments]
        if op.name.value == "main":
            for index, shape in self.change.arguments.items():
                inputs[index] = ranked(shape, ir.RankedTensorType(inputs[index]).element_type)
        is_private = "sym_visibility" in op.attributes and op.visibility.value == "private"
        visibility = "private" if is_private else "public"
        new = func.FuncOp(op.name.value, (inputs, []), visibility=visibility)
        entry = new.add_entry_block()
        with ir.InsertionPoint(entry):
            for old, value in zip(op.arguments, entry.arguments, strict=True):
                self.values[old] = self.change.constant_instead(value) or value
            for inner in op.entry_block.operations:
                self._op(inner)
        given = [value.type for value in entry.arguments]
        returned = [value.type for value in terminator(entry).operands]
        new.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(given, returned))
        for name, count in {"arg_attrs": len(given), "res_attrs": len(returned)}.items():
            if name in op.attributes and len(ir.ArrayAttr(op.attributes[name])) == count:
                new.attributes[name] = op.attributes[name]

    def _op(self, op: ir.OpView) -> None:
        with op.location:
            if isinstance(op, hlo.ConstantOp):
                results = [self.change.constant(op)]
            else:
                operands = self._agreeing(op)
                operands = self.change.operands(op, operands, self.made)
                results = list(self._created(op, operands).results)
        self.values.update(zip(op.results, results, strict=True))
        self.change.built(op, results)
        if op.operation.parent.name == "func.func":
            self.made += results

    def _agreeing(self, op: ir.OpView) -> list[ir.Value]:
        """The new operands; those of an elementwise op are brought to one shape where possible."""
        operands = [self.values[value] for value in op.operands]
        if not _is_elementwise(op) or len({shape_of(value) for value in operands}) == 1:
            return operands
        settled = [value for value in operands if not _is_adaptable(value)]
        shape = shape_of((settled or operands)[0])
        for index, value in enumerate(operands):
            if _is_adaptable(value) and shape_of(value) != shape and DYNAMIC not in shape:
                operands[index] = _reshaped(value, shape)
                self.values[op.operands[index]] = operands[index]
        return operands

    def _created(self, op: ir.OpView, operands: Values) -> ir.Operation:
        attributes = self.change.attributes(op, operands)
        name = op.operation.name
        if not op.regions and name not in SHAPES and op.results:
            made = _inferred(name, operands, attributes)
            if made is not None:
                return made
        results = result_types(op, operands, attributes, self.change)
        created = ir.Operation.create(name, results, operands, attributes, regions=len(op.regions))
        change = self.change
        self.change = change.inside(op)
        for old, new in zip(op.regions, created.regions, strict=True):
            for block in old.blocks:
                types = [like(a.type, op.operands, operands, self.change) for a in block.arguments]
                copy = new.blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
                self.values.update(zip(block.arguments, copy.arguments, strict=True))
                with ir.InsertionPoint(copy):
                    for inner in block.operations:
                        self._op(inner)
        self.change = change
        return created


def _is_elementwise(op: ir.OpView) -> bool:
    """Whether all operands and the result have one shape, and the op is not a matrix product."""
    types = [value.type for value in (*op.operands, *op.results)]
    if len(op.operands) < 2 or len(op.results) != 1 or op.operation.name == "stablehlo.dot_general":
        return False
    return all(isinstance(kind, ir.RankedTensorType) for kind in types) and (
        len({tuple(kind.shape) for kind in types}) == 1
    )


def _is_adaptable(value: ir.Value) -> bool:
    """Whether the shape of a new value can still change: nothing depends on it yet."""
    if isinstance(value, ir.BlockArgument):
        return not is_used(value)
    owner = value.owner
    return isinstance(owner, hlo.ConstantOp) or (
        isinstance(owner, hlo.BroadcastInDimOp) and not shape_of(owner.operand)
    )


def _reshaped(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The value with another shape, see `_is_adaptable`."""
    kind = ranked(shape, element_type(value))
    if isinstance(value, ir.BlockArgument):
        value.set_type(kind)
        return value
    if isinstance(value.owner, hlo.ConstantOp):
        return resized_constant(value, kind)
    return hlo.broadcast_in_dim(kind, value.owner.operands[0], [])


def _inferred(name: str, operands: Values, attributes: Attributes) -> ir.Operation | None:
    """The op with the result types that MLIR infers; None if MLIR cannot infer them for this op.

    Raises:
        ir.MLIRError: the op is not valid.
    """
    try:
        return ir.Operation.create(name, operands=operands, attributes=attributes, infer_type=True)
    except ir.MLIRError as error:
        if "does not support type inference" in str(error):
            return None
        raise
