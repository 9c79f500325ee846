"""The ops and kernels of a program, as the models of devices read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir.values import shape_of
from .flops import elements_of, kind_of
from .formulas import ARITHMETIC, FUNCTIONS, names

VIEWS = names("broadcast_in_dim reshape reverse slice transpose")
MOVES = names("concatenate dynamic_slice dynamic_update_slice gather pad")
FREE = names("constant iota")
ELEMENTWISE = ARITHMETIC | FUNCTIONS | names("bitcast_convert complex imag real square is_inf conj")
FUSED = VIEWS | MOVES | FREE | ELEMENTWISE | names("reduce")
_OF_REGIONS = names("while if case")
_WITH_SCALARS = names("broadcast_in_dim clamp select")
"""Elementwise ops and views that may read an element several times."""

LEAST_OF_LIBRARY = 4096
"""The least elements of an op, or of the operand of a reduction, that the library computes.

Ops on 3,000 elements were not in its kernels, ops on 5,000 were, on jaxlib 0.10.2 and 0.12.
"""


@dataclass(slots=True)  # not frozen: one is made for each op that is priced
class Node:
    """One op of a program, as the models read it. It is not changed.

    Attributes:
        op: the op.
        name: StableHLO's, without the dialect.
        operands: the values that it reads, renamed ones replaced.
        results: its results.
        key: the first of them.
        shape: the extents of that one; empty if they are not known.
        elements: of its largest result.
    """

    op: ir.OpView
    name: str
    operands: tuple[ir.Value, ...]
    results: tuple[ir.Value, ...]
    key: ir.Value
    shape: tuple[int, ...]
    elements: int
    _is_static: bool | None = None
    _kind: str | None = None

    @property
    def is_static(self) -> bool:
        """Whether it reads and computes tensors of static shapes, not empty ones, only."""
        if self._is_static is None:  # kept, as a kernel that uses the op again asks again
            self._is_static = self.name in _OF_REGIONS or all(
                isinstance(kind, ir.RankedTensorType)
                and kind.has_static_shape
                and 0 not in kind.shape
                for kind in (value.type for value in (*self.operands, *self.results))
            )
        return self._is_static

    @property
    def kind(self) -> str:
        """The element type of its first result, as text."""
        if self._kind is None:
            self._kind = kind_of(self.key)
        return self._kind

    @property
    def is_fused(self) -> bool:
        """Whether it may be part of a kernel of several ops."""
        return self.name in FUSED


@dataclass(slots=True)
class FusedKernel:
    """One kernel.

    Attributes:
        root: the op whose results it stores.
        demand: for each op, by its first result, how many elements of it the kernel computes.
        reads: for each stored value that it reads, how many elements.
        scattered: the ops, by their first result, of which it computes elements apart from each
            other in memory, so that they are not vectorized.
    """

    root: Node
    nodes: list[Node] = field(default_factory=list)
    demand: dict[ir.Value, float] = field(default_factory=dict)
    reads: dict[ir.Value, float] = field(default_factory=dict)
    scattered: set[ir.Value] = field(default_factory=set)

    def is_like(self, other: FusedKernel) -> bool:
        """Whether another kernel computes the same elements of the same ops."""
        return (
            self.demand == other.demand
            and self.reads == other.reads
            and self.scattered == other.scattered
        )


def is_library_reduction(node: Node) -> bool:
    """Whether XLA:CPU's library computes a reduction."""
    if node.name != "reduce" or len(node.results) > 1 or not is_of_floats(node):
        return False
    return elements_of_value(node.operands[0]) >= LEAST_OF_LIBRARY


def is_copied_product(node: Node) -> bool:
    """Whether a sum of products of f32 over one dimension keeps one of extent 1.

    XLA:CPU's library of jaxlib 0.10.2 computes it as a batch of matrix products, whose operands it
    copies in other orders: five times the bytes of the products.
    """
    dims, product = list(node.op.attributes["dimensions"]), node.op.operands[0].owner
    if len(dims) != 1 or not isinstance(product, hlo.MulOp) or product.lhs == product.rhs:
        return False
    shape, kind = shape_of(product.result), product.result.type.element_type
    return 1 in (*shape[: dims[0]], *shape[dims[0] + 1 :]) and isinstance(kind, ir.F32Type)


def is_of_floats(node: Node) -> bool:
    kinds = [value.type for value in (*node.operands, *node.results)]
    return all(
        isinstance(kind, ir.RankedTensorType)
        and isinstance(kind.element_type, ir.F32Type | ir.BF16Type)
        for kind in kinds
    )


def is_over_last(node: Node) -> bool:
    """Whether a reduction combines adjacent elements."""
    dims = list(node.op.attributes["dimensions"])
    return len(ir.RankedTensorType(node.operands[0].type).shape) - 1 in dims


def takes_columns(node: Node) -> bool:
    """Whether `node` is a slice of few of the adjacent elements of its operand."""
    if node.name != "slice":
        return False
    shape = ir.RankedTensorType(node.operands[0].type).shape
    taken = ir.RankedTensorType(node.key.type).shape
    return bool(shape) and taken[-1] * 2 <= shape[-1]


def repeats(node: Node) -> bool:
    """Whether a broadcast repeats elements of its operand."""
    return node.elements > elements_of_value(node.operands[0])


def repeated_at_once(node: Node) -> int:
    """How many adjacent elements of a broadcast are one element of its operand."""
    count, kept = 1, set(node.op.broadcast_dimensions)
    for dim in reversed(range(len(node.shape))):
        if dim in kept:
            break
        count *= max(node.shape[dim], 1)
    return count


def node_of(op: ir.OpView) -> Node:
    results = tuple(op.results)
    key = results[0]
    kind = key.type
    shape: tuple[int, ...] = ()
    elements = 0
    if isinstance(kind, ir.RankedTensorType) and kind.has_static_shape:
        shape = tuple(kind.shape)
        elements = prod(shape)
    for other in results[1:]:
        elements = max(elements, elements_of_value(other))
    return Node(op, name_of(op), tuple(op.operands), results, key, shape, elements)


def needed_nodes(outputs: Iterable[ir.Value], members: Mapping[ir.Value, Node]) -> list[Node]:
    """The nodes that compute `outputs`, producers first; `members` has the node of each value."""
    order: dict[ir.Value, Node] = {}
    seen = set[ir.Value]()
    pending = [(value, False) for value in outputs]
    while pending:
        value, is_done = pending.pop()
        if value in seen or (node := members.get(value)) is None:
            continue
        if is_done:
            seen.update(node.results)
            order[node.key] = node
        else:
            pending.append((value, True))
            pending += [(each, False) for each in node.operands if each in members]
    return list(order.values())


def name_of(op: ir.OpView) -> str:
    name: str = op.operation.name
    return name.removeprefix("stablehlo.").removeprefix("chlo.")


def elements_of_value(value: ir.Value) -> int:
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return 0
    return elements_of(kind)


def read_of(node: Node, value: ir.Value, wanted: float) -> float:
    """How many elements of `value` it takes to compute `wanted` elements of `node`."""
    if node.name in ELEMENTWISE or node.name in VIEWS or node.name in FREE:
        return min(wanted, elements_of_value(value)) if node.name in _WITH_SCALARS else wanted
    size = elements_of_value(value)
    whole = max(node.elements, 1)
    if node.name in ("gather", "dynamic_slice", "pad"):
        return min(wanted, size) if value == node.operands[0] else min(size, wanted)
    if node.name == "dynamic_update_slice":
        return 0 if value == node.operands[0] else size
    return size * wanted / whole  # concatenations, reductions, and whatever reads all of it
