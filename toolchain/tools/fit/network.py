"""Which values to keep and which to compute again, as the minimum cut of a network.

For each step before the peak: it is computed again, at the price of its time, or each of its
results that is needed after the peak is kept, at the price of its bytes. A step that is computed
again needs all that it reads. The cheapest choice is a minimum cut; the exchange rate of bytes and
seconds is a parameter.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from jaxlib.mlir import ir
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from ...cost.liveness import Timeline, size_of

_MOST = 2**30
"""The capacity of an edge that must not be cut."""

_SUM = 2**29
"""The sum of all other capacities, which are integers of 32 bits."""


class CutNetwork:
    """The network of one timeline.

    Args:
        timeline: of the block.
        repeatable: the stored values that can be computed again.
    """

    def __init__(self, timeline: Timeline, repeatable: Collection[ir.Value]) -> None:
        self.timeline, self.repeatable = timeline, repeatable
        end = max(timeline.tops, default=-1)
        self.steps = timeline.steps[: end + 1]
        self.values = [value for step in self.steps for value in step.results]
        self._value = {value: i for i, value in enumerate(self.values)}
        self.late = [value for value in self.values if self._is_read_late(value)]

    def _is_read_late(self, value: ir.Value) -> bool:
        top = self.timeline.top_of(value)
        if top is None:
            return False
        is_read = any(reader > top for reader in self.timeline.readers[value])
        return is_read or value in self.timeline.results

    @property
    def kept_bytes(self) -> int:
        """The bytes that the program keeps over the peak."""
        return sum(map(size_of, self.late))

    @property
    def seconds(self) -> float:
        """The time of the steps before the peak."""
        return sum(step.seconds for step in self.steps)

    def recomputed(self, rate: float, kept: Collection[ir.Value] = ()) -> set[ir.Value]:
        """The values to compute again.

        Args:
            rate: how many bytes a second of run time is worth.
            kept: values that are not computed again.
        """
        edges = _Edges(2 + len(self.steps) + len(self.values))
        source, sink, first_step, first_value = 0, 1, 2, 2 + len(self.steps)
        unit = _SUM / max(self.kept_bytes + rate * self.seconds, 1.0)
        for index, step in enumerate(self.steps):
            node = first_step + index
            fixed = any(v not in self.repeatable or v in kept for v in step.results)
            price = _MOST if fixed else round(rate * step.seconds * unit)
            edges.add(source, node, price)
            for value in step.results:
                edges.add(node, first_value + self._value[value], round(size_of(value) * unit))
            for value in step.reads:
                if value in self._value:
                    edges.add(first_value + self._value[value], node, _MOST)
        for value in self.late:
            edges.add(first_value + self._value[value], sink, _MOST)
        again = edges.sink_side(source, sink)
        chosen = [s for i, s in enumerate(self.steps) if first_step + i in again]
        return {value for step in chosen for value in step.results}


class _Edges:
    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.capacity: dict[tuple[int, int], int] = {}

    def add(self, start: int, end: int, capacity: int) -> None:
        key = start, end
        self.capacity[key] = min(self.capacity.get(key, 0) + capacity, _MOST)

    def sink_side(self, source: int, sink: int) -> set[int]:
        """The nodes from which the sink can be reached once the flow is maximal."""
        starts, ends = np.array(list(self.capacity), dtype=np.int32).reshape(-1, 2).T
        capacity = np.array(list(self.capacity.values()), dtype=np.int32)
        graph = csr_matrix((capacity, (starts, ends)), shape=(self.nodes, self.nodes))
        flow = maximum_flow(graph, source, sink).flow
        rest = (graph - flow).tocsr()
        rest.data[rest.data < 0] = 0
        rest.eliminate_zeros()
        reached = breadth_first_order(rest.T.tocsr(), sink, return_predecessors=False)
        return set(map(int, reached))
