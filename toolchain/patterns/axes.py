"""Labels for the dimensions of values, and the ops that only rearrange them.

A pattern and a program are compared dimension by dimension, whatever the order in which each of
them keeps its dimensions. A dimension has a label: `Core` where the pattern computes along it,
`Extra` where the program has a dimension along which the pattern only maps, None where the size is
1 or where the label does not matter. `peel` follows a value through transposes, broadcasts and
reshapes to the value that they rearrange.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir import shape_of, splat_attr, splat_of


class Core:
    """A dimension along which the pattern sums, contracts, slices, counts or concatenates."""

    __slots__ = ()


class Extra:
    """A dimension of the program along which the pattern maps.

    Attributes:
        size: its size.
        root: the number of the result of the pattern from which it was reached.
        link: the dimension of an earlier result that it was found to be, or None.
    """

    __slots__ = ("link", "root", "size")

    def __init__(self, size: int, root: int) -> None:
        self.size, self.root = size, root
        self.link: Extra | None = None


Label: TypeAlias = "Core | Extra | tuple[Core | Extra, ...] | None"
"""The label of a dimension; a tuple for a dimension that is several dimensions merged."""

Labels: TypeAlias = tuple[Label, ...]


def resolved(label: Label) -> Label:
    """The label with the links between the dimensions of several results followed."""
    if isinstance(label, tuple):
        return tuple(r for part in label if isinstance(r := resolved(part), Core | Extra))
    while isinstance(label, Extra) and label.link is not None:
        label = label.link
    return label


def parts_of(label: Label) -> tuple[Core | Extra, ...]:
    """The dimensions that a label stands for."""
    found = resolved(label)
    if isinstance(found, tuple):
        return found
    return () if found is None else (found,)


def core_of(labels: Labels) -> set[Core]:
    """The `Core` labels among `labels`."""
    return {label for label in labels if isinstance(label, Core)}


def peel(value: ir.Value, labels: Labels) -> tuple[ir.Value, Labels]:
    """The value that transposes, broadcasts and reshapes rearrange to `value`, with its labels.

    Zeros that are added do not count: JAX starts sums of cotangents with them, and XLA removes
    them. A reshape that splits or merges dimensions is followed only where the split dimensions are
    `Extra`. A splat constant has no labels.
    """
    while not isinstance(op := value.owner, ir.Block):
        match op:
            case hlo.TransposeOp(operand=operand):
                found: list[Label] = [None] * len(labels)
                for dim, source in enumerate(op.permutation):
                    found[source] = labels[dim]
            case hlo.BroadcastInDimOp(operand=operand):
                small, large = shape_of(operand), shape_of(value)
                found = [
                    labels[dim] if small[index] == large[dim] else None
                    for index, dim in enumerate(op.broadcast_dimensions)
                ]
            case hlo.ReshapeOp(operand=operand):
                merged = _through_reshape(shape_of(operand), shape_of(value), labels)
                if merged is None:
                    break
                found = merged
            case hlo.AddOp() if adds_zero(op):
                found = list(labels)
                operand = op.operands[1 if splat_of(op.operands[0]) == 0 else 0]
            case _:
                break
        value, labels = operand, tuple(found)
    if any(label is not None for label in labels) and splat_attr(value) is not None:
        labels = (None,) * len(labels)
    return value, labels


def adds_zero(op: ir.OpView) -> bool:
    """Whether an op adds a splat constant of zeros."""
    return isinstance(op, hlo.AddOp) and any(splat_of(each) == 0 for each in op.operands)


def _through_reshape(
    before: Sequence[int], after: Sequence[int], labels: Labels
) -> list[Label] | None:
    """The labels of a reshape's operand; None where it splits or merges labelled dimensions."""
    if any(size <= 0 for size in before):
        return None
    found: list[Label] = [None] * len(before)
    for sources, results in reshape_groups(before, after):
        names = [labels[dim] for dim in results if labels[dim] is not None]
        if not names:
            continue
        if len(sources) != 1:
            return None
        if len(results) == 1:
            found[sources[0]] = names[0]
        elif len(names) == len(results) and all(isinstance(name, Extra) for name in names):
            found[sources[0]] = tuple(names)  # type: ignore[arg-type]
        else:
            return None
    return found


def reshape_groups(
    before: Sequence[int], after: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """The dimensions of a reshape's operand and result that hold the same elements, in order.

    Dimensions of size 1 are in no group.
    """
    left = [dim for dim, size in enumerate(before) if size != 1]
    right = [dim for dim, size in enumerate(after) if size != 1]
    i = j = 0
    while i < len(left) and j < len(right):
        sources, results = [left[i]], [right[j]]
        have, want = before[left[i]], after[right[j]]
        while have != want:
            if have < want:
                i += 1
                sources.append(left[i])
                have *= before[left[i]]
            else:
                j += 1
                results.append(right[j])
                want *= after[right[j]]
        i, j = i + 1, j + 1
        yield sources, results
