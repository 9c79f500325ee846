"""The communication and the computation of one device in a function with explicit collectives.

Besides Shardy's collectives, two kinds of communication are counted that Shardy does not make
explicit. Slices, pads and convolutions along split dimensions exchange elements with neighbouring
devices. XLA gathers the operands of ops that it cannot partition.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, sdy, stablehlo as hlo

from ..cost.flops import bytes_of
from ..ir import has_regions
from ..ir.bounds import trip_count
from ..ir.module import terminator
from ..ir.propagation import Meshes, argument_shardings, result_shardings, split_of
from .cone import read_by

_SENT = {
    "sdy.all_reduce": 2.0,
    "sdy.all_gather": 1.0,
    "sdy.reduce_scatter": 1.0,
    "sdy.all_to_all": 1.0,
    "sdy.collective_permute": 1.0,
}
"""Bytes sent per byte of data, by a ring algorithm over many devices."""

_RULE = "sdy.sharding_rule"
_TERMINATORS = {"func.return", "stablehlo.return"}
_MORE_WORK = 1.1  # how many times larger the part of the work on one device may become


@dataclass
class DeviceWork:
    """What one device does in a function.

    Attributes:
        count: the number of collectives that run.
        sent: the bytes that they send.
        choices: collectives that the partitioner may implement in two ways: the name of the op that
            needs it, the fewest and the most bytes.
        looped: the bytes and the number of runs of each all-reduce in a loop. XLA may move it out
            of the loop.
        shifts: the ops whose devices exchange parts of an operand with their neighbours: a slice,
            a pad or a convolution along a dimension that is split.
        made: the bytes of the results of ops on split values, on one device.
        whole: the bytes of the same results if they were not split.
    """

    count: float = 0.0
    sent: float = 0.0
    choices: Counter[tuple[str, float, float]] = field(default_factory=Counter)
    looped: Counter[tuple[float, float]] = field(default_factory=Counter)
    shifts: Counter[str] = field(default_factory=Counter)
    made: float = 0.0
    whole: float = 0.0

    def allows(self, other: DeviceWork) -> bool:
        """Whether `other` may replace this: it sends no more, and its work is as evenly split."""
        least = self.sent + sum(low for _, low, _ in self.choices.elements())
        most = other.sent + sum(high for _, _, high in other.choices.elements())
        if self.choices == other.choices:
            least, most = self.sent, other.sent
        count, others = self.count, other.count
        if self.looped != other.looped:  # the worst case: XLA moves only those of `self`
            least += sum(sent for sent, _ in self.looped.elements())
            most += sum(sent * times for sent, times in other.looped.elements())
            count += self.looped.total()
            others += sum(times for _, times in other.looped.elements())
        if others > count or most > least:
            return False
        if other.shifts.total() >= self.shifts.total() and other.shifts != self.shifts:
            return False
        share = self.made / self.whole if self.whole else 1.0
        return other.made <= max(self.made, _MORE_WORK * share * other.whole)


def device_work_of(function: ir.OpView, meshes: Meshes) -> DeviceWork:
    """What one device does in a function, over meshes with axes of these sizes."""
    return _Count(function, meshes).work()


class _Count:
    """The state of the count of one function."""

    def __init__(self, function: ir.OpView, meshes: Meshes) -> None:
        self._function = function
        self._meshes = meshes

    def work(self) -> DeviceWork:
        """What one device does in the function."""
        found, function = DeviceWork(), self._function
        on_split = {v for v in function.regions[0].blocks[0].arguments if self._is_split(v)}
        for op, times in runs_of(function):
            if isinstance(op, hlo.PadOp) and self._is_refused(op):
                found.count = math.inf
            if op.operation.name in _SENT:
                self._count_collective(op, times, found)
            elif op.operation.name == "sdy.all_slice":
                on_split.update(op.results)
            if on_split.isdisjoint(read_by(op)) or op.operation.name in _TERMINATORS:
                continue
            if not op.operation.name.startswith("sdy."):
                self._count_op(op, times, found)
            on_split.update(op.results)
            for region in op.regions:
                on_split.update(region.blocks[0].arguments)
        return found

    def _is_refused(self, op: hlo.PadOp) -> bool:
        """Whether XLA fails to compile a pad: it has interior padding along a split dimension.

        XLA's verifier then reports operands of different shapes (jaxlib 0.10.2 and 0.12).
        """
        sliced = [use.owner for use in op.result.uses if _name(use.owner) == "sdy.all_slice"]
        splits = [split_of(next(result_shardings(op)), self._meshes)]
        for each in sliced:
            sharding = sdy.TensorShardingAttr(each.attributes["out_sharding"])
            splits.append(split_of(sharding, self._meshes))
        between = op.interior_padding
        return any(n > 1 and between[dim] for split in splits for dim, n in enumerate(split))

    def _is_split(self, argument: ir.BlockArgument) -> bool:
        function = argument.owner.owner
        sharding = argument_shardings(function)[argument.arg_number]
        return any(count > 1 for count in split_of(sharding, self._meshes))

    def _parts(self, sharding: sdy.TensorShardingAttr | None) -> int:
        return math.prod(split_of(sharding, self._meshes))

    def _count_collective(self, op: ir.OpView, times: float, work: DeviceWork) -> None:
        parts = self._parts(sdy.TensorShardingAttr(op.attributes["out_sharding"]))
        sent = _SENT[op.operation.name] * bytes_of(op.results[0].type) / parts
        ways = {sent}
        producer = op.operands[0].owner
        if op.operation.name == "sdy.all_reduce" and not isinstance(producer, ir.Block):
            # If only some operands are split, the partitioner may gather those instead.
            split = [v for v in producer.operands if _name(v.owner) != "sdy.all_slice"]
            if len(split) < len(producer.operands):
                ways.add(sum(bytes_of(value.type) for value in split))
        if times > 1 and op.operation.name == "sdy.all_reduce":
            work.looped[max(ways), times] += 1
            return
        work.count += times
        if len(ways) > 1:
            work.choices[_name(producer), times * min(ways), times * max(ways)] += 1
        else:
            work.sent += times * sent

    def _count_op(self, op: ir.OpView, times: float, work: DeviceWork) -> None:
        if not has_regions(op) or isinstance(op, hlo.ReduceOp | hlo.ScatterOp | hlo.SortOp):
            for result, sharding in zip(op.results, result_shardings(op), strict=True):
                work.whole += times * bytes_of(result.type)
                work.made += times * bytes_of(result.type) / self._parts(sharding)
        for value in gathered_values(op):
            if self._sharding_of(value) > 1:
                work.count += times
                work.sent += times * bytes_of(value.type)
        if _RULE in op.attributes and (shift := _shift(op, self._meshes)):
            work.shifts[shift] += 1

    def _sharding_of(self, value: ir.Value) -> int:
        """Into how many parts a value of the trial is split."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            function = owner.owner
            if function.operation.name != "func.func":
                return 1
            return self._parts(argument_shardings(function)[value.arg_number])
        if "out_sharding" in owner.attributes:
            return self._parts(sdy.TensorShardingAttr(owner.attributes["out_sharding"]))
        number = ir.OpResult(value).result_number
        return self._parts(list(result_shardings(owner))[number])


def _name(owner: ir.OpView | ir.Block) -> str:
    return "" if isinstance(owner, ir.Block) else owner.operation.name


def gathered_values(op: ir.OpView) -> list[ir.Value]:
    """The values of an op that XLA cannot partition, each of which it gathers if it is split.

    These are its operands, or the results of an `if`.
    """
    if isinstance(op, hlo.IfOp):
        return list(terminator(op.regions[0].blocks[0]).operands)
    if isinstance(op, chlo.TopKOp):
        return list(op.operands)
    if isinstance(op, hlo.CustomCallOp) and _RULE not in op.attributes:
        return list(op.operands)
    return []


def _shift(op: ir.OpView, meshes: Meshes) -> str:
    """A text that describes how an op shifts elements along split dimensions; empty if not."""
    rule = sdy.OpShardingRuleAttr(op.attributes[_RULE])
    shifting = set(rule.permutation_factors)
    if not shifting:
        return ""
    split = split_of(next(result_shardings(op)), meshes)
    factors = _factors(rule.result_mappings[0])
    dims = [
        dim
        for dim, parts in enumerate(split)
        if parts > 1 and not shifting.isdisjoint(factors[dim])
    ]
    if not dims:
        return ""
    match op:
        case hlo.SliceOp(start_indices=low, limit_indices=high, strides=step):
            settings = str([(low[dim], high[dim], step[dim]) for dim in dims])
        case hlo.PadOp(edge_padding_low=low, edge_padding_high=high, interior_padding=step):
            settings = str([(low[dim], high[dim], step[dim]) for dim in dims])
        case _:
            own = [name for name in op.operation.attributes if not name.startswith("sdy.")]
            settings = str([(name, str(op.operation.attributes[name])) for name in own])
    sizes_there = [ir.RankedTensorType(op.operands[0].type).shape[dim] for dim in dims]
    return f"{op.operation.name} {settings} {sizes_there} {bytes_of(op.results[0].type)}"


def _factors(mapping: ir.Attribute) -> list[list[int]]:
    dims = sdy.TensorMappingAttr(mapping).dim_mappings
    return [list(sdy.DimMappingAttr(dim).factor_indices) for dim in dims]


def runs_of(root: ir.OpView, times: float = 1.0) -> Iterator[tuple[ir.OpView, float]]:
    """Each op inside `root`, and how often it runs; bodies of reductions count as no op."""
    for region in root.regions:
        for op in region.blocks[0].operations:
            yield op, times
            if isinstance(op, hlo.WhileOp):
                yield from runs_of(op, times * (trip_count(op) or 1))
            elif isinstance(op, hlo.CaseOp | hlo.IfOp):
                yield from runs_of(op, times)
