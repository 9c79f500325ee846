"""Which ops of a StableHLO program XLA compiles into one kernel.

`kernels_of` groups ops as XLA's fusion pass for CPU does (`cpu_instruction_fusion.cc`), and the
other compilers roughly do: an op joins the kernels of its users if all of them can take it. If not,
its value is stored in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from jaxlib.mlir import ir

from ..ir.materialize import is_layout_call, is_materialize_call
from ..ir.values import shape_of
from .device import Device
from .formulas import ARITHMETIC, FUNCTIONS, names
from .node import (
    ELEMENTWISE,
    FREE,
    FUSED,
    LEAST_OF_LIBRARY,
    MOVES,
    VIEWS,
    FusedKernel,
    Node,
    elements_of_value,
    is_library_reduction,
    is_of_floats,
    is_over_last,
    name_of,
    needed_nodes,
    node_of,
    read_of,
    repeated_at_once,
    repeats,
    takes_columns,
)
from .stored import choose_stored

_WITH_EPILOGUE = names("dot_general convolution")
"""Ops that XLA:TPU computes in one kernel with the elementwise ops on their result."""

_FUSED_BY = {
    "cpu": FUSED,
    "gpu": FUSED | {"reduce_window"},
    "tpu": FUSED | {"reduce_window"} | _WITH_EPILOGUE,
}
"""The ops that may be part of a kernel of several ops, by the kind of device."""

_EXPENSIVE = FUNCTIONS | _WITH_EPILOGUE | names("gather reduce reduce_window sqrt rsqrt remainder")
"""Ops that are not computed again for each of several users."""

_CHOOSING = names("concatenate dynamic_update_slice pad")
"""Ops that choose between operands by the index: XLA:CPU emits them only once in a kernel."""

_OF_LIBRARY = (
    ARITHMETIC | FUNCTIONS | names("broadcast_in_dim concatenate reshape transpose")
) - names("select compare")
"""Ops on f32 and bf16 that XLA:CPU's library for reductions computes with them."""

_BETWEEN_REDUCTIONS = ELEMENTWISE | names("broadcast_in_dim reshape")
"""Ops that XLA:GPU computes in one kernel with reductions over the last dimension."""

_EACH, _ELSEWHERE, _AGAIN = range(3)
"""How a kernel reads a value: the element at each index, at other indices, or several times."""

_SHIFTING = MOVES | names("broadcast_in_dim reverse slice transpose")
"""Ops that read an element of their operand at another index than that of the result."""


def kernels_of(
    ops: Iterable[ir.OpView],
    outputs: Sequence[ir.Value],
    renamed: Mapping[ir.Value, ir.Value] | None = None,
    kind: str = "cpu",
    nodes: dict[ir.OpView, Node] | None = None,
    matters: Callable[[Node], bool] | None = None,
    device: Device | None = None,
) -> list[FusedKernel]:
    """The kernels that compute `outputs` with `ops`; values from elsewhere are in memory.

    Args:
        ops: of one block.
        outputs: the results of `ops` that other ops read.
        renamed: for each value that is replaced, its replacement.
        kind: of the device: "cpu", "gpu" or "tpu".
        nodes: a cache of the nodes of ops, to which new ones are added.
        matters: whether the caller needs the `demand` of the kernel of a root. It is left empty for
            other kernels, except those with a transpose or a reduction outside of the library.
        device: decides which elementwise values are stored, by estimates of the time.
    """
    graph = _Graph(ops, outputs, renamed or {}, kind, {} if nodes is None else nodes)
    if device is not None:
        choose_stored(graph.order, graph.users, graph.stored, graph.is_optional, device)
    roots = [node for node in graph.order if graph.is_launched(node)]
    if matters is None:
        return [graph.kernel(root) for root in roots]
    with_nests = graph.roots_of_nests()
    return [
        graph.kernel(root)
        if root.key in with_nests or matters(root)
        else FusedKernel(root, graph.members(root))
        for root in roots
    ]


def is_fusible(op: ir.OpView) -> bool:
    """Whether `op` may be part of a kernel of several ops."""
    return name_of(op) in FUSED


class _Graph:
    """Ops in order, with the users of each value among them."""

    def __init__(
        self,
        ops: Iterable[ir.OpView],
        outputs: Sequence[ir.Value],
        renamed: Mapping[ir.Value, ir.Value],
        kind: str,
        nodes: dict[ir.OpView, Node],
    ) -> None:
        self.stored: dict[ir.Value, bool] = {}
        members: dict[ir.Value, Node] = {}
        for op in ops:
            node = nodes.get(op)
            if node is None:
                if not len(op.results):
                    continue
                nodes[op] = node = node_of(op)
            if renamed and not renamed.keys().isdisjoint(node.operands):
                operands = tuple([renamed.get(value, value) for value in node.operands])
                node = replace(node, operands=operands)
            for value in node.results:
                members[value] = node
        self._outputs = {renamed.get(value, value) for value in outputs}
        self._fused = _FUSED_BY[kind]
        self.order = needed_nodes(self._outputs, members)
        self._of = {value: node for node in self.order for value in node.results}
        self._number = {node.key: number for number, node in enumerate(self.order)}
        # By the number of a node: the kernel that computes it, and how that uses it.
        self._root: list[int | None] = [None] * len(self.order)
        self._use = [_EACH] * len(self.order)
        self.users: dict[ir.Value, list[int]] = {}
        for number, node in enumerate(self.order):
            for value in node.operands:
                self.users.setdefault(value, []).append(number)
        self._kind = kind
        self._in_library = set[ir.Value]() if kind == "tpu" else self._around_reductions()
        for number in reversed(range(len(self.order))):
            node = self.order[number]
            if len(node.results) == 1:
                users = self.users.get(node.key, [])
            else:
                users = [user for value in node.results for user in self.users.get(value, ())]
            stored = self._is_stored(node, users)
            self._root[number] = number if stored else self._root_of_all(users)
            self._use[number] = _EACH if stored else self._use_by(node, users)
            for value in node.results:
                self.stored[value] = stored

    def _around_reductions(self) -> set[ir.Value]:
        """The ops, by their first results, that XLA computes in one kernel with reductions.

        XLA:CPU leaves reductions of floats to a library, with the elementwise ops around them.
        Slices, selects and integers are not part of these kernels. XLA:GPU fuses reductions over
        the last dimension with the ops after them, as in softmax and layer normalization.
        """
        inside: set[ir.Value] = set()
        pending = [node for node in self.order if self._is_reduction(node)]
        self._reduced_shapes = {shape_of(node.operands[0]) for node in pending}
        while pending:
            node = pending.pop()
            key = node.key
            if key in inside:
                continue
            inside.add(key)
            near = [self._of[v] for v in node.operands if v in self._of]
            if node.name != "reduce" or is_over_last(node):
                near += [self.order[user] for v in node.results for user in self.users.get(v, ())]
            pending += [each for each in near if self._is_of_library(each)]
        return inside

    def _is_reduction(self, node: Node) -> bool:
        """Whether it is a reduction whose kernel may also compute ops that read its result."""
        if self._kind == "cpu" or node.name != "reduce":
            return is_library_reduction(node)
        return len(node.results) == 1 and is_of_floats(node) and is_over_last(node)

    def _is_of_library(self, node: Node) -> bool:
        if node.name == "reduce":
            return self._is_reduction(node)
        if self._kind == "gpu":
            if node.name == "broadcast_in_dim" and repeats(node):
                return node.shape in self._reduced_shapes
            return node.name in _BETWEEN_REDUCTIONS
        if node.name == "divide" and self._is_by_few(node):
            return False
        if node.name == "multiply" and any(map(self._is_boolean, node.operands)):
            return False
        is_large = node.elements >= LEAST_OF_LIBRARY
        return node.name in _OF_LIBRARY and is_large and is_of_floats(node)

    def _is_boolean(self, value: ir.Value) -> bool:
        """Whether it is a converted boolean: XLA turns a product with one into a `select`."""
        owner = self._of.get(value)
        if owner is None or owner.name != "convert":
            return False
        return str(ir.RankedTensorType(owner.operands[0].type).element_type) == "i1"

    def _is_by_few(self, node: Node) -> bool:
        """Whether a divisor is a broadcast of few numbers: XLA computes their reciprocals first."""
        divisor = self._of.get(node.operands[1])
        if divisor is None or divisor.name != "broadcast_in_dim":
            return False
        return elements_of_value(divisor.operands[0]) < LEAST_OF_LIBRARY

    def _is_stored(self, node: Node, users: Sequence[int]) -> bool:
        """Whether the results of `node` are in memory: whether it does not join all its users."""
        if self._is_free(node):
            return False
        if node.name not in self._fused or not self._outputs.isdisjoint(node.results):
            return True
        for user in users:
            if not self._takes(self.order[user], node):
                return True
        if node.key in self._in_library:
            if self._joins(node, users):
                return False
            if self._kind == "cpu":
                return True
        if node.name in _CHOOSING and self._kind == "cpu":
            readers = self._readers(users)
            return len({self._root[user] for user in readers}) < len(readers)
        if node.name in VIEWS or node.name not in _EXPENSIVE:
            return False
        return self._root_of_all(users) is None or self._use_by(node, users) == _AGAIN

    def is_optional(self, node: Node) -> bool:
        """Whether the results of `node` may be stored, and may be computed in all readers."""
        if self._is_free(node) or not self._outputs.isdisjoint(node.results):
            return False
        users = self.users.get(node.key, ())
        return all(self._takes(self.order[user], node) for user in users)

    def _readers(self, users: Sequence[int]) -> set[int]:
        """The ops that read a value, of its reshapes as well."""
        found: set[int] = set()
        for user in users:
            node = self.order[user]
            is_view = node.name == "reshape" and not self.stored[node.key]
            found |= self._readers(self.users.get(node.key, ())) if is_view else {user}
        return found

    def _is_free(self, node: Node) -> bool:
        """Whether it is a constant, or a broadcast scalar constant."""
        if node.name != "broadcast_in_dim":
            return node.name in FREE
        owner = self._of.get(node.operands[0])
        return owner is not None and owner.elements == 1 and self._is_free(owner)

    def _joins(self, node: Node, users: Sequence[int]) -> bool:
        """Whether an op of the library is in one kernel with all of its users."""
        root = self._root_of_all(users)
        if root is not None and (self._kind == "cpu" or self.order[root].key in self._in_library):
            return True
        return node.name in VIEWS and not any(value in self._of for value in node.operands)

    def _use_by(self, node: Node, users: Sequence[int]) -> int:
        """How the kernel of `users` uses the elements of `node`, which they read."""
        most = _EACH
        for user in users:
            most = max(most, _use_of(self.order[user], node), self._use[user])
        return _AGAIN if len(users) > 1 and most != _EACH else most

    def _root_of_all(self, nodes: Sequence[int]) -> int | None:
        """The root of the one kernel that computes all of these ops; None if several do."""
        if len(nodes) == 1:
            return self._root[nodes[0]]
        roots = {self._root[node] for node in nodes}
        return roots.pop() if len(roots) == 1 else None

    def _takes(self, user: Node, node: Node) -> bool:
        """Whether `user` may be in one kernel with `node`, whose result it reads."""
        inside = self._in_library
        if inside and self._kind == "cpu" and (user.key in inside) != (node.key in inside):
            return False
        if user.name not in self._fused or user.name in _WITH_EPILOGUE:
            return False
        if node.name in _WITH_EPILOGUE:
            return user.name in ELEMENTWISE
        if user.name == "gather" and user.operands[0] in node.results:
            return self._kind == "gpu"
        if user.name == "dynamic_update_slice":
            return user.operands[0] not in node.results
        return user.name != "reduce" or node.name != "reduce"

    def roots_of_nests(self) -> set[ir.Value]:
        """The stored values whose kernels hold a transpose, or a reduction outside the library."""
        found: set[ir.Value] = set()
        inside: set[ir.Value] = set()
        for node in self.order:  # producers first
            is_sum = node.name == "reduce" and not is_library_reduction(node)
            is_nest = is_sum or node.name == "transpose"
            if is_nest or any(value in inside for value in node.operands):
                if self.stored[node.key]:
                    found.add(node.key)
                else:
                    inside.update(node.results)
        return found

    def is_launched(self, node: Node) -> bool:
        """Whether `node` is the root of a kernel: it is stored and no mere view of memory."""
        return self.stored[node.key] and not self._is_alias(node)

    def _is_alias(self, node: Node) -> bool:
        """Whether it computes nothing: a reshape of a value in memory, a layout, a barrier."""
        if node.name == "reshape":
            return self._is_in_memory(node.operands[0])
        if node.name == "transpose" and self._kind != "cpu":
            return self._is_layout(node)
        is_call = is_layout_call(node.op) or is_materialize_call(node.op)
        return is_call or node.name == "optimization_barrier"

    def _is_layout(self, node: Node) -> bool:
        """Whether a transpose before or after a product only sets the layout of that operand."""
        owner = self._of.get(node.operands[0])
        users = [self.order[user] for user in self.users.get(node.key, ())]
        if owner is not None and owner.name == "dot_general":
            return self._kind == "gpu" or len(node.op.permutation) > 2
        return bool(users) and all(user.name == "dot_general" for user in users)

    def _is_in_memory(self, value: ir.Value) -> bool:
        return value not in self._of or self.stored[value]

    def kernel(self, root: Node) -> FusedKernel:
        """The kernel of `root`: the ops that are computed in it, and how often."""
        kernel = FusedKernel(root, self.members(root))
        kernel.demand[root.key] = root.elements
        inside = {node.key: node for node in kernel.nodes}
        for node in kernel.nodes:
            wanted = kernel.demand[node.key]
            for value in node.operands:
                self._demand(kernel, node, value, wanted, inside)
        return kernel

    def _demand(
        self,
        kernel: FusedKernel,
        node: Node,
        value: ir.Value,
        wanted: float,
        inside: Mapping[ir.Value, Node],
    ) -> None:
        """Add what `node`, of which `wanted` elements are computed, reads of `value`."""
        needed = read_of(node, value, wanted)
        owner = self._of.get(value)
        if owner is None or owner.key not in inside:
            size = elements_of_value(value)
            kernel.reads[value] = min(size, kernel.reads.get(value, 0) + needed)
            return
        key = owner.key
        if node.key in kernel.scattered or takes_columns(node):
            kernel.scattered.add(key)
        if node.name == "broadcast_in_dim" and key not in self._in_library:
            needed = wanted / repeated_at_once(node)
        known = kernel.demand.get(key, 0)
        kernel.demand[key] = known + needed if node.name in _SHIFTING else max(known, needed)

    def members(self, root: Node) -> list[Node]:
        """The ops of the kernel of `root`, users first."""
        inside = {root.key: root}
        pending = [root]
        while pending:
            for value in pending.pop().operands:
                owner = self._of.get(value)
                if owner is None or self.stored[value] or owner.key in inside:
                    continue
                inside[owner.key] = owner
                pending.append(owner)
        if len(inside) == 1:
            return [root]
        return sorted(inside.values(), key=lambda node: -self._number[node.key])


def _use_of(user: Node, node: Node) -> int:
    if user.name == "broadcast_in_dim":
        return _AGAIN if repeats(user) else _ELSEWHERE
    if user.name in ELEMENTWISE:  # `select` and `clamp` also take scalars
        return _AGAIN if user.elements > node.elements else _EACH
    return _ELSEWHERE
