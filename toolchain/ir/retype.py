"""A module rewritten to other types: every op is created again with mapped types."""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

TypeMap = Callable[[ir.Type], ir.Type]
OpMap = Callable[[ir.OpView, list[ir.Value]], list[ir.Value] | None]


def retype(module: ir.Module, map_type: TypeMap, map_op: OpMap | None = None) -> ir.Module:
    """A copy of `module` in the same context, with `map_type` applied to each type.

    Args:
        module: the module, which stays as it is.
        map_type: gives the new type of a value; function types are mapped part by part.
        map_op: called with each op and its new operands, with the insertion point at the new op;
            returns the values that replace the results, or None to create the same op with mapped
            types. Constants need it, since their attributes hold elements.

    Raises:
        ir.MLIRError: an op is not valid with the new types.
    """
    with module.context, ir.Location.unknown():
        copy = ir.Module.create(module.operation.location)
        for name, attribute in module.operation.attributes.items():
            copy.operation.attributes[name] = attribute
        with ir.InsertionPoint(copy.body):
            rebuild = _ModuleRebuilder(map_type, map_op)
            for op in module.body.operations:
                rebuild.op(op)
        copy.operation.verify()
        return copy


class _ModuleRebuilder:
    def __init__(self, map_type: TypeMap, map_op: OpMap | None) -> None:
        self.map_type = map_type
        self.map_op = map_op
        self.values: dict[ir.Value, ir.Value] = {}

    def op(self, op: ir.OpView) -> None:
        """Create `op` again at the insertion point."""
        operands = [self.values[value] for value in op.operands]
        with op.location:
            made = self.map_op(op, operands) if self.map_op is not None else None
            results = list(self._created(op, operands).results) if made is None else made
        for old, new in zip(op.results, results, strict=True):
            self.values[old] = new

    def _created(self, op: ir.OpView, operands: list[ir.Value]) -> ir.Operation:
        created = ir.Operation.create(
            op.operation.name,
            [self.map_type(result.type) for result in op.results],
            operands,
            {name: self._attribute(attribute) for name, attribute in op.attributes.items()},
            regions=len(op.regions),
        )
        for old, new in zip(op.regions, created.regions, strict=True):
            for block in old.blocks:
                self._block(block, new)
        return created

    def _block(self, block: ir.Block, region: ir.Region) -> None:
        types = [self.map_type(argument.type) for argument in block.arguments]
        copy = region.blocks.append(*types, arg_locs=[a.location for a in block.arguments])
        self.values.update(zip(block.arguments, copy.arguments, strict=True))
        with ir.InsertionPoint(copy):
            for op in block.operations:
                self.op(op)

    def _attribute(self, attribute: ir.Attribute) -> ir.Attribute:
        if not isinstance(attribute, ir.TypeAttr):
            return attribute
        kind = attribute.value
        if not isinstance(kind, ir.FunctionType):
            return ir.TypeAttr.get(self.map_type(kind))
        inputs, results = (list(map(self.map_type, part)) for part in (kind.inputs, kind.results))
        return ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
