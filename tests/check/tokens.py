"""A token carried through a program as an extra operand and result of its ops."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from jxc.ir import clone_module, functions, walk

_CARRIERS = ("stablehlo.while", "stablehlo.if", "stablehlo.case", "stablehlo.optimization_barrier")


def with_token(module: ir.Module) -> ir.Module | None:
    """A copy whose @main passes a token through every op that can carry one; None if no op can."""
    copy = clone_module(module)
    main = functions(copy)["main"]
    carriers = [op for op in walk(main.operation) if op.operation.name in _CARRIERS]
    if not carriers:
        return None
    with copy.context, ir.Location.unknown() as unknown:
        kind = ir.Type.parse("!stablehlo.token")
        token = main.regions[0].blocks[0].add_argument(kind, unknown)
        signature = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        signature = ir.FunctionType.get([*signature.inputs, kind], signature.results)
        main.attributes["function_type"] = ir.TypeAttr.get(signature)
        for op in reversed(carriers):
            _carry(op, token)
        copy.operation.verify()
    return copy


def _carry(op: ir.OpView, token: ir.Value) -> None:
    """Replace `op` by an op that also carries the token."""
    is_choice = op.operation.name in ("stablehlo.if", "stablehlo.case")
    with ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.operation.name,
            [*(result.type for result in op.results), token.type],
            [*op.operands, *([] if is_choice else [token])],
            {name: op.attributes[name] for name in op.attributes},
            regions=len(op.regions),
        )
    for place, (old, region) in enumerate(zip(op.regions, new.regions, strict=True)):
        block = old.blocks[0]
        block.append_to(region)
        of_block = token if is_choice else block.add_argument(token.type, op.location)
        if is_choice or place == 1:  # the first region of a loop returns its condition
            _return_also(block, of_block)
    for result, now in zip(op.results, new.results, strict=False):
        result.replace_all_uses_with(now)
    op.operation.erase()


def _return_also(block: ir.Block, value: ir.Value) -> None:
    ops: Sequence[ir.OpView] = list(block.operations)
    with ir.InsertionPoint(ops[-1]):
        stablehlo.return_([*ops[-1].operands, value])
    ops[-1].operation.erase()
