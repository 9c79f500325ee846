"""Contexts, modules and ops: creating, copying, walking, counting; which ops have effects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from jaxlib.mlir import ir

from . import _private


def make_context(*, allow_unregistered_dialects: bool = False) -> ir.Context:
    """A new context with every dialect that a lowered JAX program may hold."""
    registry = ir.DialectRegistry()
    _private.register_jax_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    _private.register_hlo_dialects(context)
    context.allow_unregistered_dialects = allow_unregistered_dialects
    return context


@cache
def register_native_passes() -> None:
    """Register StableHLO's and MHLO's passes with MLIR's pipeline parser, once in a process."""
    _private.register_native_passes()


def clone_module(module: ir.Module | ir.Operation) -> ir.Module:
    """A copy of a module, or of its operation, in the same context, with locations and attributes.

    Constants are shared, not copied: attributes are unique in a context. (`operation.clone()`
    gives a `ModuleOp`, which XLA does not accept.)
    """
    source = module.operation if isinstance(module, ir.Module) else module
    with source.context:
        copy = ir.Module.create(source.location)
        for name, attribute in source.attributes.items():
            copy.operation.attributes[name] = attribute
        for op in source.regions[0].blocks[0].operations:
            copy.body.append(op.operation.clone())
    return copy


def walk(root: ir.Operation | ir.OpView) -> Iterator[ir.OpView]:
    """Every op inside `root`, without `root`; an op comes before the ops in its regions.

    The op just yielded may be changed in place, not erased.

        >>> module = read_module("func.func @f() { return }", make_context())
        >>> [op.operation.name for op in walk(module.operation)]
        ['func.func', 'func.return']
    """
    pending = [_ops_of(root)]  # not recursive: loops may be nested deeper than Python calls
    while pending:
        for op in pending[-1]:
            yield op
            if _HAS_REGIONS.get(type(op), True) and has_regions(op):
                pending.append(_ops_of(op))
                break
        else:
            pending.pop()


def _ops_of(op: ir.Operation | ir.OpView) -> Iterator[ir.OpView]:
    """The ops directly in the regions of `op`."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.operations


def nesting_of(root: ir.Operation | ir.OpView) -> int:
    """How deep ops with regions are nested inside `root`; 1 for functions without loops."""
    return names_and_nesting(root)[1]


def names_and_nesting(root: ir.Operation | ir.OpView) -> tuple[frozenset[str], int]:
    """The results of `op_names` and `nesting_of`, in one walk."""
    names: set[str] = set()
    depth = -1
    level: list[ir.Operation | ir.OpView] = [root]
    while level:
        depth += 1
        blocks = [block for op in level for region in op.regions for block in region.blocks]
        ops: list[ir.OpView] = [op for block in blocks for op in block.operations]
        found = {getattr(kind, "OPERATION_NAME", "") for kind in set(map(type, ops))}
        names |= {op.operation.name for op in ops} if "" in found else found
        level = [op for op in ops if has_regions(op)]
    return frozenset(names), depth


_HAS_REGIONS: dict[type, bool] = {}  # by op class: an op class has regions or it has none


def has_regions(op: ir.Operation | ir.OpView) -> bool:
    """Whether ops of the class of `op` have regions: faster than reading `op.regions`."""
    kind = type(op)
    known = _HAS_REGIONS.get(kind)
    if known is None:
        known = len(op.regions) > 0
        if kind not in (ir.OpView, ir.Operation):  # the classes of ops without one of their own
            _HAS_REGIONS[kind] = known
    return known


def captured_values(op: ir.Operation | ir.OpView) -> list[ir.Value]:
    """The values that ops in the regions of `op` read from outside of it, as often as they do."""
    if not has_regions(op):
        return []
    inside = list(walk(op))
    own = {result for each in inside for result in each.results}
    blocks = [b for each in (op, *inside) for region in each.regions for b in region.blocks]
    own |= {argument for block in blocks for argument in block.arguments}
    return [value for each in inside for value in each.operands if value not in own]


def argument_names(function: ir.OpView) -> list[str]:
    """The name of each argument of a function, from its location as JAX writes it ("p['w']").

    `arg0`, `arg1`, ... where the location has no name: module text without locations has none.
    """
    return [
        each.location.name_str if isinstance(each.location, ir.NameLoc) else f"arg{index}"
        for index, each in enumerate(function.regions[0].blocks[0].arguments)
    ]


DONATED = ("tf.aliasing_output", "jax.buffer_donor")
"""The attributes of an argument whose buffer the program may overwrite."""


def donated_arguments(function: ir.OpView) -> frozenset[int]:
    """The positions of the arguments of a function whose buffers the program may overwrite."""
    if "arg_attrs" not in function.attributes:
        return frozenset()
    each = enumerate(function.attributes["arg_attrs"])
    return frozenset(index for index, own in each if any(name in own for name in DONATED))


def op_names(module: ir.Module) -> frozenset[str]:
    """The names of the ops that the module holds, such as "stablehlo.add"."""
    return names_and_nesting(module.operation)[0]


def module_name(module: ir.Module) -> str:
    """The module's name, such as "jit_step"; "module" if it has none."""
    name = module.operation.attributes.get("sym_name")
    return "module" if name is None else str(ir.StringAttr(name).value)


def blocks_of(module: ir.Module | ir.Operation) -> Iterator[ir.Block]:
    """Yield the blocks of the functions of a module, each before those of the ops inside it.

    A block may be rewritten before the next one is asked for.
    """
    pending = [block for f in functions(module).values() for r in f.regions for block in r.blocks]
    while pending:
        block = pending.pop()
        yield block
        for op in block.operations:
            if has_regions(op):
                pending += [each for region in op.regions for each in region.blocks]


def module_of(op: ir.Operation | ir.OpView) -> ir.Operation:
    """The module that `op` is part of."""
    found = op.operation
    while found.name != "builtin.module":
        found = found.parent
    return found


def functions(module: ir.Module | ir.Operation) -> dict[str, ir.OpView]:
    """The module's `func.func` ops by name, in order."""
    body = module.operation.regions[0].blocks[0]
    found = [op for op in body.operations if op.operation.name == "func.func"]
    return {ir.StringAttr(op.attributes["sym_name"]).value: op for op in found}


def main_of(module: ir.Module | ir.Operation) -> ir.OpView | None:
    """The function @main, or None."""
    symbols = ir.SymbolTable(module.operation)  # faster than the names of all functions
    if "main" not in symbols:
        return None
    found: ir.OpView = symbols["main"]
    return found if found.operation.name == "func.func" else None


def ops_of(block: ir.Block) -> list[ir.OpView]:
    """The ops of a block without its terminator."""
    return list(block.operations)[:-1]


def terminator(block: ir.Block) -> ir.OpView:
    """The last op of a block."""
    return block.operations[len(block.operations) - 1]


_STRUCTURE = frozenset({"func.func", "func.return", "stablehlo.return", "sdy.mesh"})


def count_ops(module: ir.Module) -> int:
    """The number of ops in the module, constants and calls included.

    Functions, terminators and meshes are not counted: they do no work.
    """
    return sum(1 for op in walk(module.operation) if op.operation.name not in _STRUCTURE)


# Effects

OBSERVABLE = frozenset(f"stablehlo.{name}" for name in ("infeed", "outfeed", "send", "recv"))
"""The ops, apart from custom calls, whose execution is observable outside of the program."""

COLLECTIVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute"),
        *("cross_replica_sum", "reduce_scatter"),
    )
)
"""The ops that exchange data between devices."""

_PURE_DIALECTS = ("stablehlo.", "chlo.")
_IMPURE = (
    OBSERVABLE
    | COLLECTIVES
    | frozenset(
        f"stablehlo.{name}"
        for name in (
            *("after_all", "async_done", "async_start", "composite", "create_token"),
            *("optimization_barrier", "partition_id", "replica_id", "rng"),
        )
    )
)


def is_pure(op: ir.OpView) -> bool:
    """Whether `op`, apart from the ops in its regions, only computes its results.

    Only ops of StableHLO and CHLO can be pure: calls and ops of other dialects may have any effect,
    and so may composites and asynchronous ops. Collectives synchronise devices.

        >>> is_pure(stablehlo.abs(x).owner)
        True
    """
    name = op.operation.name
    return name.startswith(_PURE_DIALECTS) and name not in _IMPURE and not has_side_effect(op)


def is_removable(op: ir.OpView) -> bool:
    """Whether `op` may be erased if nothing uses its results: a pure op without regions.

    So may a collective: all devices run the same program, and leave it out alike.
    """
    return op.operation.name in COLLECTIVES or (not has_regions(op) and is_pure(op))


def has_side_effect(op: ir.OpView) -> bool:
    """Whether the execution of `op` itself is observable: a transfer, or a call marked so."""
    if op.operation.name != "stablehlo.custom_call":
        return op.operation.name in OBSERVABLE
    return "has_side_effect" in op.attributes and bool(op.attributes["has_side_effect"].value)


def callbacks_in(module: ir.Module) -> dict[ir.OpView, str]:
    """The ops by which JAX calls back into Python, with their names: "custom_call @...", "send".

    On a TPU these are transfers to and from its host.
    """
    found = {}
    for op in walk(module.operation):
        name = op.operation.name.removeprefix("stablehlo.")
        if name == "custom_call" and "callback" in op.call_target_name.value:
            found[op] = f"custom_call @{op.call_target_name.value}"
        elif name in ("send", "recv") and op.is_host_transfer:
            found[op] = name
    return found
