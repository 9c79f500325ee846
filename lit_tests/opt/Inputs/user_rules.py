"""Rules and passes of a user for `--load-pass`: some are correct, the others each fail."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import AddOp, MulOp, SubtractOp

from jxc import exact, module_pass, rule


@rule(exact)
def subtract_of_add(op: SubtractOp) -> ir.Value | None:
    """(x + y) - y -> x, on integers: floats round."""
    match op.lhs.owner:
        case AddOp(lhs=x, rhs=y) if y == op.rhs and "i32" in str(x.type):
            return x
    return None


@rule(exact)
def swap_add(op: AddOp) -> ir.Value | None:
    """x + y -> y + x: never done, since it undoes itself."""
    return stablehlo.add(op.rhs, op.lhs)


@rule(exact)
def raising(op: AddOp) -> ir.Value | None:
    """x + y -> an exception."""
    raise ValueError("nothing adds up")


@rule(exact)
def mistyped(op: MulOp) -> ir.Value | None:
    """x * y -> a value of another type."""
    return stablehlo.compare(op.lhs, op.rhs, stablehlo.ComparisonDirectionAttr.get("EQ"))


@module_pass
def count_adds(module, *, attribute: str = "adds") -> None:
    """Write the number of adds as attribute `jxc.<attribute>` of the module."""
    adds = [op for f in module.regions[0].blocks[0] for op in f.regions[0].blocks[0]]
    number = sum(op.operation.name == "stablehlo.add" for op in adds)
    i64 = ir.IntegerType.get_signless(64)
    module.attributes[f"jxc.{attribute}"] = ir.IntegerAttr.get(i64, number)


@module_pass
def drop_main(module) -> None:
    """Erase @main."""
    for op in list(module.regions[0].blocks[0].operations):
        op.operation.erase()


@module_pass
def break_types(module) -> None:
    """Put an op of the wrong type before the return of @main."""
    block = module.regions[0].blocks[0].operations[0].regions[0].blocks[0]
    i1 = ir.RankedTensorType.get((), ir.IntegerType.get_signless(1))
    with ir.InsertionPoint.at_block_terminator(block):
        ir.Operation.create(
            "stablehlo.add", results=[i1], operands=[block.arguments[0], block.arguments[0]]
        )


@module_pass
def drop_donation(module) -> None:
    """Drop the donation of @main's arguments."""
    main = module.regions[0].blocks[0].operations[0]
    empty = ir.DictAttr.get({})
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([empty] * len(main.arguments))
