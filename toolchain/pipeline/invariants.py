"""What must hold after every pass, whoever wrote it. The one place where it is checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxlib.mlir import ir

from ..errors import JxcError
from ..ir import format_diagnostics, functions, walk


class BrokenInvariant(JxcError):
    """A pass changed what it must leave alone, or left invalid IR."""


@dataclass(frozen=True)
class Invariants:
    """What of a module must survive: taken before the first pass, compared after each.

    Attributes:
        signature: @main's type; None for a module without @main.
        arguments: @main's argument attributes: donation, aliasing, shardings, layouts.
        results: @main's result attributes.
        effects: the targets of ops with side effects: callbacks, tokens, sends.
        module: the attributes of the module itself.
    """

    signature: str | None
    arguments: tuple[dict[str, str], ...]
    results: tuple[dict[str, str], ...]
    effects: frozenset[str]
    module: dict[str, str]

    @staticmethod
    def of(module: ir.Module) -> Invariants:
        """What `module` promises to whoever calls it."""
        main = functions(module).get("main")
        return Invariants(
            signature=None if main is None else str(main.attributes["function_type"]),
            arguments=() if main is None else _attribute_dicts(main, "arg_attrs"),
            results=() if main is None else _attribute_dicts(main, "res_attrs"),
            effects=frozenset(_effects(module)),
            module={k: str(v) for k, v in module.operation.attributes.items()},
        )

    def check(self, module: ir.Module) -> None:
        """Raise `BrokenInvariant` where `module` does not keep what `self` recorded."""
        now = Invariants.of(module)
        if self.signature is not None and now.signature is None:
            raise BrokenInvariant("@main is gone")
        if self.signature != now.signature:
            raise BrokenInvariant(f"@main had type {self.signature}, now {now.signature}")
        _check_attributes("argument", self.arguments, now.arguments)
        _check_attributes("result", self.results, now.results)
        if lost := self.effects - now.effects:
            raise BrokenInvariant(f"an op with side effects is gone: {sorted(lost)[0]}")
        for key, value in self.module.items():
            if now.module.get(key) != value:
                raise BrokenInvariant(
                    f"the module's attribute {key} was {value}, now {now.module.get(key)}"
                )


def verify(module: ir.Module, name: str) -> None:
    """Raise `BrokenInvariant`, with file:line:col, where the module is invalid IR."""
    try:
        valid = module.operation.verify()
    except ir.MLIRError as error:
        raise BrokenInvariant(f"invalid IR: {format_diagnostics(error, name)}") from None
    if not valid:
        raise BrokenInvariant("invalid IR")


def _attribute_dicts(func: ir.OpView, key: str) -> tuple[dict[str, str], ...]:
    if key not in func.attributes:
        return ()
    each = ir.ArrayAttr(func.attributes[key])
    return tuple({a.name: str(a.attr) for a in ir.DictAttr(d)} for d in each)


_EFFECTFUL = frozenset(
    f"stablehlo.{name}" for name in ("infeed", "outfeed", "send", "recv", "optimization_barrier")
)


def _effects(module: ir.Module) -> Iterator[str]:
    for op in walk(module.operation):
        if op.operation.name in _EFFECTFUL:
            yield op.operation.name
        elif op.operation.name == "stablehlo.custom_call" and _has_side_effect(op):
            config = op.attributes.get("backend_config", "")
            yield f"custom_call @{op.attributes['call_target_name'].value} {config}"


def _has_side_effect(op: ir.OpView) -> bool:
    return "has_side_effect" in op.attributes and op.attributes["has_side_effect"].value


def _check_attributes(
    what: str, before: tuple[dict[str, str], ...], after: tuple[dict[str, str], ...]
) -> None:
    for index, attributes in enumerate(before):
        now = after[index] if index < len(after) else {}
        for key, value in attributes.items():
            if now.get(key) != value:
                raise BrokenInvariant(
                    f"@main's {what} {index} had {key} = {value}, now {now.get(key, 'none')}"
                )
