"""Whole modules: copying, walking, counting."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir


def clone_module(module: ir.Module) -> ir.Module:
    """A copy in the same context, locations and attributes included.

    Constants are shared, not copied: attributes are unique in a context. (`operation.clone()`
    gives a `ModuleOp`, which XLA does not take.)
    """
    source = module.operation
    with module.context:
        copy = ir.Module.create(source.location)
        for name, attribute in source.attributes.items():
            copy.operation.attributes[name] = attribute
        for op in module.body.operations:
            copy.body.append(op.operation.clone())
    return copy


def walk(root: ir.Operation | ir.OpView) -> Iterator[ir.OpView]:
    """Every op inside `root`, not itself, outer ops before the ones in their regions.

    The op just yielded may be changed in place, not erased.
    """
    for region in root.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op
                if has_regions(op):
                    yield from walk(op)


def has_regions(op: ir.Operation | ir.OpView) -> bool:
    """Whether ops like `op` have regions: quicker than to ask for them."""
    kind = type(op)
    known = _HAVE_REGIONS.get(kind)
    if known is None:
        known = len(op.regions) > 0
        if kind not in (
            ir.OpView,
            ir.Operation,
        ):  # the kinds of ops that have no class of their own
            _HAVE_REGIONS[kind] = known
    return known


_HAVE_REGIONS: dict[type, bool] = {}  # a kind of op has regions or it has none


def argument_names(function: ir.OpView) -> list[str]:
    """What each argument of a function is called: by its location, as JAX writes it ("p['w']").

    `arg0`, `arg1`, ... where there is none: text without locations has no names.
    """
    locations = [argument.location for argument in function.regions[0].blocks[0].arguments]
    return [
        location.name_str if isinstance(location, ir.NameLoc) else f"arg{index}"
        for index, location in enumerate(locations)
    ]


def op_names(module: ir.Module) -> frozenset[str]:
    """The names of the ops that the module holds, such as "stablehlo.add"."""
    names = set()
    for kind in {type(op) for op in walk(module.operation)}:
        if (name := getattr(kind, "OPERATION_NAME", None)) is None:
            return frozenset(op.operation.name for op in walk(module.operation))
        names.add(name)
    return frozenset(names)


def functions(module: ir.Module) -> dict[str, ir.OpView]:
    """The module's `func.func` ops by name, in order."""
    found = [op for op in module.body.operations if op.operation.name == "func.func"]
    return {ir.StringAttr(op.attributes["sym_name"]).value: op for op in found}


def count_ops(module: ir.Module) -> int:
    """How many ops the module holds: functions, their bodies and terminators left out.

    What is counted is what a person would count as work: constants and calls too.
    """
    return sum(1 for op in walk(module.operation) if op.operation.name not in _STRUCTURE)


_STRUCTURE = frozenset({"func.func", "func.return", "stablehlo.return", "sdy.mesh"})
