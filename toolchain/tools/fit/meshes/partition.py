"""What one device does in a program that is split over a mesh, predicted without compiling it.

Shardy's own passes propagate the shardings of a candidate and make the collectives explicit. The
types of the result are then made local, so that the models of kernels and of memory price what one
device computes and holds, and the model of the network prices what it sends. All of that runs in
child processes, one for each core: Shardy's passes may abort, and take most of the time.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo as hlo
from jaxlib.mlir.passmanager import PassManager

from ....child import Child, ChildLost, serve as serve_requests
from ....compiled.collectives import groups_along
from ....cost.flops import bytes_of
from ....cost.liveness import Timeline
from ....cost.network import Fabric, Groups
from ....errors import JxcError
from ....ir import clone_module, functions, make_context, read_module, walk
from ....ir.module import donated_arguments, main_of
from ....ir.propagation import (
    argument_shardings,
    local_type,
    propagation_passes,
    result_shardings,
    shardings_of_results,
    split_of,
)
from ....ir.shardings import SHARDY, Spec, meshes_of, parse_mesh, without_trailing
from ....passes.annotate_sharding import annotate_sharding
from ....rewrite import File, PassContext
from ....rewrite.device_work import gathered_values, runs_of
from .gathers import added_by_gathers, split_count
from .products import reshard_products
from .windows import added_by_windows

_EXPLICIT = (
    "builtin.module(func.func(sdy-insert-explicit-reshards{enable-full-version=true},"
    "sdy-reshard-to-collectives),canonicalize)"
)

_KINDS = {
    "sdy.all_reduce": "all-reduce",
    "sdy.all_gather": "all-gather",
    "sdy.reduce_scatter": "reduce-scatter",
    "sdy.all_to_all": "all-to-all",
    "sdy.collective_permute": "collective-permute",
}
_COMBINED = 1 << 18
"""XLA combines collectives of fewer bytes with others, so that their latency does not count."""

_LIMIT_S = 120.0  # of processor time for one candidate; a large training step takes 1 s
_LONGEST_MESSAGE = 300  # characters
_MOST_CHILDREN = 2  # the memory of each is that of the program's module, and jaxlib's 200 MiB


@dataclass(frozen=True)
class Prediction:
    """What one device does in a partitioned program.

    Attributes:
        seconds: of the computation.
        network_seconds: of the collectives, one after the other.
        needed: bytes at the peak.
        specs: the sharding of each argument of @main, then of each result.
    """

    seconds: float
    network_seconds: float
    needed: int
    specs: tuple[Spec, ...]


@dataclass(frozen=True)
class ShardingCandidate:
    """Shardings to try.

    Attributes:
        rules: the path of a file for the pass `annotate-sharding`.
        mesh: the mesh in it, as text.
        fabric: the network between its devices, in the order of the mesh; None if not known.
    """

    rules: str
    mesh: str
    fabric: Fabric | None


class Predictor:
    """Child processes that predict one candidate each at a time.

    Args:
        module: the path of the program's bytecode, whose calls are inlined.
        target: the name of the hardware.

    Attributes:
        failure: why the last candidate without a prediction has none.
    """

    def __init__(self, module: str, target: str) -> None:
        self.failure = ""
        self._request = module, target
        count = min(_MOST_CHILDREN, os.cpu_count() or 1)
        self._children = [Child(__name__, _LIMIT_S) for _ in range(count)]
        self._free: SimpleQueue[Child] = SimpleQueue()
        for child in self._children:
            self._free.put(child)

    def predict(self, candidates: Iterable[ShardingCandidate]) -> list[Prediction | None]:
        """The prediction for each candidate; None where Shardy or a model fails."""
        with ThreadPoolExecutor(len(self._children)) as pool:
            return list(pool.map(self._ask, candidates))

    def _ask(self, candidate: ShardingCandidate) -> Prediction | None:
        child = self._free.get()
        try:
            found: Prediction | str = child.ask((*self._request, candidate))
        except ChildLost as error:
            found = str(error)
        finally:
            self._free.put(child)
        if isinstance(found, Prediction):
            return found
        self.failure = found
        return None

    def close(self) -> None:
        """End the processes."""
        for child in self._children:
            child.close()


# Inside a child


def main() -> None:
    """Answer candidates with predictions until the parent closes the pipe."""

    def answer(request: tuple[str, str, ShardingCandidate]) -> Prediction | str:
        path, target, candidate = request
        try:
            return predict(_read(path), PassContext(target), candidate)
        except (JxcError, ir.MLIRError, ValueError) as error:
            return " ".join(f"{error}".split())[:_LONGEST_MESSAGE]

    serve_requests(answer)


@lru_cache(1)
def _read(path: str) -> ir.Module:
    return read_module(Path(path).read_bytes(), make_context())


def predict(module: ir.Module, context: PassContext, candidate: ShardingCandidate) -> Prediction:
    """What one device does in a module with the shardings of a candidate.

    Raises:
        JxcError: the rules contradict the program.
        MLIRError: the shardings cannot be propagated.
    """
    local = clone_module(module)
    with local.context, ir.Location.unknown():
        annotate_sharding.function(local.operation, context, rules=File(candidate.rules))
        run_native(local, propagation_passes(local.context))
        reshard_products(local)
        run_native(local, _EXPLICIT)
        _restore_constants(local)
        main = main_of(local)
        assert main is not None
        shardings = [*argument_shardings(main), *shardings_of_results(main)]
        specs = tuple(map(_spec, shardings))
        _make_local(local)
        timeline = Timeline(main.regions[0].blocks[0], context.device, context.rates)
        arguments = main.regions[0].blocks[0].arguments
        donated = donated_arguments(main)
        held = sum(_size(value) for at, value in enumerate(arguments) if at not in donated)
        sent = _network_seconds(main, parse_mesh(candidate.mesh), candidate.fabric, context)
        added = added_by_windows(main, context) + added_by_gathers(main, context)
        return Prediction(timeline.seconds + added, sent, held + timeline.peak, specs)


def run_native(module: ir.Module, passes: str) -> None:
    """Run passes of MLIR and Shardy in this process, which they may abort."""
    PassManager.parse(passes, module.context).run(module.operation)


def _spec(sharding: sdy.TensorShardingAttr | None) -> Spec:
    if sharding is None:
        return ()
    dims = map(sdy.DimensionShardingAttr, sharding.dimension_shardings)
    return without_trailing(tuple(tuple(sdy.AxisRefAttr(a).name for a in d.axes) for d in dims))


def _restore_constants(module: ir.Module) -> None:
    """Replace Shardy's constants by those of StableHLO, which the models know to be free."""
    for op in [op for op in walk(module.operation) if op.operation.name == "sdy.constant"]:
        with ir.InsertionPoint(op):
            made = hlo.ConstantOp(op.attributes["value"])
        if SHARDY in op.attributes:
            made.attributes[SHARDY] = op.attributes[SHARDY]
        op.results[0].replace_all_uses_with(made.result)
        op.operation.erase()


def _make_local(module: ir.Module) -> None:
    """Give each value the type that it has on one device. The module is not valid afterwards."""
    meshes = meshes_of(module)

    def shrink(values: Iterable[ir.Value], given: Iterable[sdy.TensorShardingAttr | None]) -> None:
        for value, sharding in zip(values, given, strict=False):
            split, kind = split_of(sharding, meshes), value.type
            if any(count > 1 for count in split):
                value.set_type(local_type(kind, split))

    for function in functions(module).values():
        shrink(function.regions[0].blocks[0].arguments, argument_shardings(function))
        for op, _ in runs_of(function):
            given = [*_shardings(op)]
            shrink(op.results, given)
            if op.operation.name == "stablehlo.while":
                for region in op.regions:
                    shrink(region.blocks[0].arguments, given)


def _shardings(op: ir.OpView) -> Iterator[sdy.TensorShardingAttr | None]:
    if "out_sharding" in op.attributes:
        return iter([sdy.TensorShardingAttr(op.attributes["out_sharding"])])
    return result_shardings(op)


def _size(value: ir.Value) -> int:
    return int(bytes_of(value.type)) if isinstance(value.type, ir.RankedTensorType) else 0


def _network_seconds(
    main: ir.OpView, mesh: Mapping[str, int], fabric: Fabric | None, context: PassContext
) -> float:
    """The time of all collectives on the network, or else of their traffic with memory."""
    found: dict[tuple[str, tuple[str, ...], int], float] = defaultdict(float)
    for op, times in runs_of(main):
        for message in _messages(op, mesh):
            found[message] += times
        for value in gathered_values(op):
            found["all-gather", tuple(mesh), _size(value)] += times
    return sum(
        times * _seconds(*each, mesh, fabric, context.device.bandwidth)
        for each, times in found.items()
    )


def _messages(op: ir.OpView, mesh: Mapping[str, int]) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """The kind, the axes and the payload of what devices send for an op.

    XLA scatters a sum along the axes that split it afterwards, and adds up the parts along the
    others, where Shardy has an all-reduce along all of them and then a slice. It scatters along
    one dimension only: every device gets the whole of a sum that several are split of.
    """
    kind = _KINDS.get(op.operation.name)
    if kind is None:
        return
    if kind == "reduce-scatter" and split_count(op) > 1:
        yield "all-reduce", _axes(op, mesh), _payload(op, kind)
        return
    axes, payload = _axes(op, mesh), _payload(op, kind)
    readers = [use.owner for use in op.results[0].uses]
    is_sliced = [each.operation.name for each in readers] == ["sdy.all_slice"]
    if kind == "all-reduce" and is_sliced and split_count(readers[0]) == 1:
        scattered = _axes(readers[0], mesh)
        if set(scattered) <= set(axes):
            yield "reduce-scatter", scattered, payload
            axes = tuple(axis for axis in axes if axis not in scattered)
            payload = _size(readers[0].results[0])
    if axes:
        yield kind, axes, payload


def _seconds(
    kind: str,
    axes: tuple[str, ...],
    payload: int,
    mesh: Mapping[str, int],
    fabric: Fabric | None,
    bandwidth: float,
) -> float:
    groups = groups_along(axes, mesh)
    groups = _shifts(groups) if kind == "collective-permute" else groups
    price = fabric.price(kind, payload, groups) if fabric else None
    if fabric is None or price is None:
        return 2 * payload / bandwidth
    start = fabric.price(kind, 0, groups) if payload < _COMBINED else None
    return price.seconds - (start.seconds if start else 0.0)


def _axes(op: ir.OpView, mesh: Mapping[str, int]) -> tuple[str, ...]:
    """The axes along which devices exchange data."""
    names = ("reduction_axes", "gathering_axes", "reduce_scatter_axes", "slicing_axes", "params")
    given = [str(op.attributes[name]) for name in names if name in op.attributes]
    used = set(re.findall(r'"(\w+)"', " ".join(given)))
    return tuple(axis for axis in mesh if axis in used or not given)


def _payload(op: ir.OpView, kind: str) -> int:
    """Bytes of one device's array; of the whole array for a gather or a scatter."""
    return _size(op.operands[0] if kind == "reduce-scatter" else op.results[0])


def _shifts(groups: Groups) -> Groups:
    """Each device of a group sends to the next one."""
    return tuple(pair for group in groups for pair in pairwise((*group, group[0])))
