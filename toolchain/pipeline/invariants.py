"""Invariants of a module, which every pass must keep: checked here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from ..errors import JxcError
from ..ir import format_diagnostics, op_names, walk
from ..ir.module import OBSERVABLE, has_side_effect, main_of
from ..ir.propagation import can_propagate, main_result_shardings, restore_result_shardings
from ..ir.shardings import is_partitioned


class BrokenInvariant(JxcError):
    """A pass broke an invariant of the module, or left invalid IR."""


@dataclass(frozen=True)
class Invariants:
    """The invariants of one module: recorded before the first pass, checked after each.

    Attributes:
        main: the type of @main and the attributes of its arguments and results (donation,
            aliasing, shardings, layouts); None for a module without @main.
        effects: the ops with side effects: callbacks, sends, barriers.
        module: the attributes of the module itself.
    """

    main: dict[str, ir.Attribute] | None
    effects: frozenset[str]
    module: dict[str, ir.Attribute]

    @staticmethod
    def of(module: ir.Module, names: frozenset[str] | None = None) -> Invariants:
        """The invariants of `module` as it is now; `names` are those of its ops, if known."""
        effects = frozenset(_effects(module, names))
        return Invariants(_main(module), effects, dict(module.operation.attributes.items()))

    def with_attributes_of(self, module: ir.Module) -> Invariants:
        """The same, with the attributes that `module` has now."""
        return replace(self, module=dict(module.operation.attributes.items()))

    def without(self, attributes: frozenset[str]) -> Invariants:
        """The same, except that these attributes of the module may change."""
        kept = {key: value for key, value in self.module.items() if key not in attributes}
        return replace(self, module=kept)

    def check(self, module: ir.Module, *, may_add_results: bool = False) -> None:
        """Raise `BrokenInvariant` if `module` does not keep the invariants."""
        now = _main(module)
        if self.main is not None and now is None:
            raise BrokenInvariant("@main was removed")
        if self.main is not None and now is not None and now != self.main:
            _check_main(self.main, now, may_add_results=may_add_results)
        if self.effects and (lost := self.effects - frozenset(_effects(module))):
            raise BrokenInvariant(f"an op with side effects was removed: {sorted(lost)[0]}")
        for key, value in self.module.items():
            found = module.operation.attributes.get(key)
            if found is None or found != value:
                raise BrokenInvariant(f"the module's attribute {key} was {value}, now {found}")


@dataclass(frozen=True)
class ResultShardings:
    """How the results of a program over several devices are split if no pass runs.

    Attributes:
        wanted: the sharding of each result of @main; None if it is not known.
    """

    wanted: list[sdy.TensorShardingAttr | None] | None

    @staticmethod
    def of(module: ir.Module) -> ResultShardings:
        """The shardings of the results of `module` as it is now."""
        is_known = is_partitioned(module.operation) and can_propagate(module.operation)
        return ResultShardings(main_result_shardings(module.operation) if is_known else None)

    def restore(self, module: ir.Module) -> None:
        """Fix the results that the passes would split otherwise: callers see the shardings."""
        if self.wanted is not None:
            with module.context, ir.Location.unknown():
                restore_result_shardings(module.operation, self.wanted)


_MAIN_ATTRIBUTES = ("function_type", "arg_attrs", "res_attrs")


def _main(module: ir.Module) -> dict[str, ir.Attribute] | None:
    main = main_of(module)
    if main is None:
        return None
    attributes = main.attributes
    return {key: attributes[key] for key in _MAIN_ATTRIBUTES if key in attributes}


def _check_main(
    before: dict[str, ir.Attribute], now: dict[str, ir.Attribute], *, may_add_results: bool
) -> None:
    old, new = (ir.FunctionType(ir.TypeAttr(m["function_type"]).value) for m in (before, now))
    kept = len(old.results) if may_add_results else None
    if old.inputs != new.inputs or old.results != new.results[:kept]:
        raise BrokenInvariant(f"@main had type {old}, now {new}")
    for what, key in (("argument", "arg_attrs"), ("result", "res_attrs")):
        after = _attribute_dicts(now, key)
        for index, attributes in enumerate(_attribute_dicts(before, key)):
            found = after[index] if index < len(after) else {}
            for name, value in attributes.items():
                if (other := found.get(name, "none")) != value:
                    raise BrokenInvariant(
                        f"@main's {what} {index} had {name} = {value}, now {other}"
                    )


def verify_module(module: ir.Module, name: str) -> None:
    """Raise `BrokenInvariant`, with file:line:col, if the module is invalid IR."""
    try:
        valid = module.operation.verify()
    except ir.MLIRError as error:
        raise BrokenInvariant(f"invalid IR: {format_diagnostics(error, name)}") from None
    if not valid:
        raise BrokenInvariant("invalid IR")


def _attribute_dicts(main: dict[str, ir.Attribute], key: str) -> list[dict[str, str]]:
    each = ir.ArrayAttr(main[key]) if key in main else ()
    return [{a.name: str(a.attr) for a in ir.DictAttr(d)} for d in each]


_MAY_ACT = OBSERVABLE | {"stablehlo.custom_call", "stablehlo.optimization_barrier"}


def _effects(module: ir.Module, names: frozenset[str] | None = None) -> Iterator[str]:
    if (op_names(module) if names is None else names).isdisjoint(_MAY_ACT):
        return
    for op in walk(module.operation):
        name = op.operation.name
        if name == "stablehlo.custom_call" and has_side_effect(op):
            config = op.attributes.get("backend_config", "")
            yield f"custom_call @{op.attributes['call_target_name'].value} {config}"
        elif name == "stablehlo.optimization_barrier" or has_side_effect(op):
            yield name
