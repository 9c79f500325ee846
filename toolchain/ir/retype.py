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
    values: dict[ir.Value, ir.Value] = {}

    def create(op: ir.OpView) -> None:
        """Create `op` again at the insertion point."""
        operands = [values[value] for value in op.operands]
        with op.location:
            made = map_op(op, operands) if map_op is not None else None
            results = list(same_op(op, operands).results) if made is None else made
        values.update(zip(op.results, results, strict=True))

    def same_op(op: ir.OpView, operands: list[ir.Value]) -> ir.Operation:
        created = ir.Operation.create(
            op.operation.name,
            [map_type(result.type) for result in op.results],
            operands,
            {name: _mapped(attribute, map_type) for name, attribute in op.attributes.items()},
            regions=len(op.regions),
        )
        for old, new in zip(op.regions, created.regions, strict=True):
            for block in old.blocks:
                arguments = list(block.arguments)
                types = [map_type(argument.type) for argument in arguments]
                copy = new.blocks.append(*types, arg_locs=[each.location for each in arguments])
                values.update(zip(arguments, copy.arguments, strict=True))
                with ir.InsertionPoint(copy):
                    for inner in block.operations:
                        create(inner)
        return created

    with module.context, ir.Location.unknown():
        copy = ir.Module.create(module.operation.location)
        for name, attribute in module.operation.attributes.items():
            copy.operation.attributes[name] = attribute
        with ir.InsertionPoint(copy.body):
            for op in module.body.operations:
                create(op)
        copy.operation.verify()
        return copy


def _mapped(attribute: ir.Attribute, map_type: TypeMap) -> ir.Attribute:
    """The attribute with `map_type` applied to the type that it holds, if any."""
    if not isinstance(attribute, ir.TypeAttr):
        return attribute
    kind = attribute.value
    if not isinstance(kind, ir.FunctionType):
        return ir.TypeAttr.get(map_type(kind))
    inputs, results = (list(map(map_type, part)) for part in (kind.inputs, kind.results))
    return ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
