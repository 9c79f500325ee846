"""Whether two ops have equal attributes and regions."""

from __future__ import annotations

from jaxlib.mlir import ir


class Differs(Exception):
    """An op of the program differs from that of the pattern; the message says how."""


def same_attributes(mine: ir.OpView, theirs: ir.OpView, except_for: str = "") -> None:
    """Check that two ops have equal attributes, apart from those of other dialects.

    Raises:
        Differs: an attribute is another.
    """
    wanted, found = (
        {name: str(op.attributes[name]) for name in op.attributes} for op in (mine, theirs)
    )
    for name in sorted(wanted.keys() | found.keys()):
        if "." in name or name == except_for:
            continue
        if wanted.get(name) != found.get(name):
            raise Differs(f"has {name} = {found.get(name)}, the pattern {wanted.get(name)}")


def same_bodies(mine: ir.OpView, theirs: ir.OpView) -> None:
    """Check that two ops have equal regions.

    Raises:
        Differs: their regions differ, or use values from outside.
    """
    wanted, found = (_bodies(op) for op in (mine, theirs))
    if wanted != found:
        raise Differs("has another body than the pattern")


def _bodies(op: ir.OpView) -> list[str]:
    texts = []
    for region in op.regions:
        for block in region.blocks:
            arguments = {value: f"a{index}" for index, value in enumerate(block.arguments)}
            texts.append(_block_text(block, arguments))
    return texts


def _block_text(block: ir.Block, names: dict[ir.Value, str]) -> str:
    lines = []
    for op in block.operations:
        if any(value not in names for value in op.operands):
            raise Differs("has a body that uses values from outside")
        operands = [names[value] for value in op.operands]
        for result in op.results:
            names[result] = f"v{len(names)}"
        attributes = sorted(f"{name}={op.attributes[name]}" for name in op.attributes)
        kinds = [str(value.type) for value in op.results]
        lines.append(f"{op.operation.name} {operands} {attributes} {kinds} {_bodies(op)}")
    return "\n".join(lines)
