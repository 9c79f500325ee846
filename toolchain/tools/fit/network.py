"""Which values to keep and which to compute again, as the minimum cut of a network.

For each step before the peak: it is computed again, at the price of its time, or each of its
results that is needed after the peak is kept, at the price of its bytes. A step that is computed
again needs all that it reads. The cheapest choice is a minimum cut; the exchange rate of bytes and
seconds is a parameter.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from jaxlib.mlir import ir
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from ...cost.liveness import Timeline, size_of

_MOST = 2**30
"""The capacity of an edge that must not be cut."""

_SUM = 2**29
"""The sum of all other capacities, which are integers of 32 bits."""


_SOURCE, _SINK, _FIRST = 0, 1, 2
"""The number of the first node of a step follows those of the source and the sink."""


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
        made = [step.results for step in self.steps]
        self._fixed = [i for i, v in enumerate(made) if any(r not in repeatable for r in v)]
        self._prices = np.array([step.seconds for step in self.steps], float)
        self._sizes = np.array([size_of(value) for value in self.values], float)
        self._starts, self._ends = np.array(self._edges(), np.int32).reshape(-1, 2).T

    def _edges(self) -> list[tuple[int, int]]:
        """First from the source to each step, then from a step to each of its results."""
        made = self.timeline.made
        step, value = _FIRST, _FIRST + len(self.steps)
        found = [(_SOURCE, step + i) for i in range(len(self.steps))]
        found += [(step + made[each], value + i) for i, each in enumerate(self.values)]
        for i, each in enumerate(self.steps):
            reads = [self._value[v] for v in each.reads if v in self._value]
            found += [(value + read, step + i) for read in reads]
        return found + [(value + self._value[each], _SINK) for each in self.late]

    def _is_read_late(self, value: ir.Value) -> bool:
        top = self.timeline.top_of(value)
        if top is None:
            return False
        is_read = any(reader > top for reader in self.timeline.readers[value])
        return is_read or value in self.timeline.results

    @cached_property
    def kept_bytes(self) -> int:
        """The bytes that the program keeps over the peak."""
        return sum(map(size_of, self.late))

    @cached_property
    def seconds(self) -> float:
        """The time of the steps before the peak."""
        return sum(step.seconds for step in self.steps)

    def recomputed(self, rate: float, kept: Collection[ir.Value] = ()) -> set[ir.Value]:
        """The values to compute again.

        Args:
            rate: how many bytes a second of run time is worth.
            kept: values that are not computed again.
        """
        unit = _SUM / max(self.kept_bytes + rate * self.seconds, 1.0)
        prices, sizes, first = self._prices, self._sizes, len(self.steps)
        fixed = {self.timeline.made[value] for value in kept if value in self._value}
        of_steps = np.minimum(np.rint(prices * (rate * unit)), _MOST)
        of_steps[[*fixed, *self._fixed]] = _MOST
        capacity = np.full(len(self._starts), _MOST, np.int32)
        capacity[:first] = of_steps
        capacity[first : first + len(sizes)] = np.minimum(np.rint(sizes * unit), _MOST)
        again = self._sink_side(capacity)
        chosen = [s for i, s in enumerate(self.steps) if _FIRST + i in again]
        return {value for step in chosen for value in step.results}

    def _sink_side(self, capacity: np.ndarray) -> set[int]:
        """The nodes from which the sink can be reached once the flow is maximal."""
        nodes = _FIRST + len(self.steps) + len(self.values)
        graph = csr_matrix((capacity, (self._starts, self._ends)), shape=(nodes, nodes))
        flow = maximum_flow(graph, _SOURCE, _SINK).flow
        rest = (graph - flow).tocsr()
        rest.data[rest.data < 0] = 0
        rest.eliminate_zeros()
        reached = breadth_first_order(rest.T.tocsr(), _SINK, return_predecessors=False)
        return set(map(int, reached))
