"""The module attribute by which a pass sets options of XLA for the program.

module attributes {jxc.xla_options = {xla_cpu_disable_loop_unrolling = true}}
"""

from __future__ import annotations

from jaxlib.mlir import ir

from ..errors import UsageError

XLA_OPTIONS = "jxc.xla_options"
"""The name of the attribute: a dictionary of texts, booleans and integers by option."""


def xla_options_of(module: ir.Module) -> dict[str, str | bool | int]:
    """The options of XLA that a module sets.

    Raises:
        UsageError: a value is of another kind.
    """
    return {entry.name: _value(entry) for entry in _entries(module.operation)}


def set_xla_option(module: ir.Operation, name: str) -> None:
    """Set a boolean option of XLA; others that the module sets stay."""
    entries = {entry.name: entry.attr for entry in _entries(module)}
    module.attributes[XLA_OPTIONS] = ir.DictAttr.get({**entries, name: ir.BoolAttr.get(True)})


def _entries(module: ir.Operation) -> list[ir.NamedAttribute]:
    found = module.attributes.get(XLA_OPTIONS)
    return [] if found is None else list(ir.DictAttr(found))


def _value(entry: ir.NamedAttribute) -> str | bool | int:
    found = entry.attr
    if isinstance(found, ir.BoolAttr | ir.StringAttr | ir.IntegerAttr):
        value: str | bool | int = found.value
        return value
    raise UsageError(
        f"{XLA_OPTIONS} of the module: expected a text, a boolean or an integer for "
        f"{entry.name}, found {found}"
    )
