"""The data that a program sends between devices.

A collective's payload is one device's data. `parse_groups` reads which devices exchange it, and
`axes_of_groups` finds the axes of the mesh along which they lie. `schedule` prices them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from ..cost.network import Groups, wire_bytes
from ..hlo import Computation, Instruction, Module, SourceLine
from ..hlo.work import Executed, executed
from .origins import Origins

_LISTED = re.compile(r"\{([\d,\s]*)\}")
_IOTA = re.compile(r"(?:\[([\d,]+)\]<=)?\[([\d,]+)\](?:T\(([\d,]+)\))?$")
_MESH = re.compile(r"mesh\[(.*?)\]\s*(?:,\s*device_ids=\((.*)\)\s*)?\{(.*)\}$")
_AXIS = re.compile(r"'?([^',=]+?)'?=(\d+)")
_PART = re.compile(r"'?([^',:]+)'?(?::\((\d+)\)(\d+))?'?(?:,|$)")

_CHAIN = re.compile(r'\bchain_id="(\d+)"')

_REDUCED_SLICE = "all-reduce-scatter"
"""The TPU compiler's name for the fusion that implements a reduce-scatter."""

KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
    "send",
)
"""HLO's opcodes that send data to other devices; a `recv` is the other end of a `send`."""


@dataclass(frozen=True)
class Collective:
    """One instruction that moves data between devices.

    Attributes:
        kind: one of `KINDS`, whether it runs asynchronously or not.
        instruction: its name in the HLO text.
        payload: bytes of one device's data: of an array that is reduced, permuted or exchanged, and
            of the whole array for a gather or a scatter.
        group_size: how many devices exchange data with one another.
        axes: the mesh axes along which these devices lie; None without a mesh, or if the groups are
            not whole axes of it.
        times: how often it runs.
        assumed: whether it is in a loop of unknown trip count, which is taken to be 1.
        op_name: the traced op that it comes from.
        place: the line of Python.
        groups: the devices of each group; the pairs of a permute.
        start: the number of the instruction that starts it, among those that run.
        end: the number of the first instruction after its result is awaited; None if it is
            synchronous.
    """

    kind: str
    instruction: str
    payload: int
    group_size: int
    axes: tuple[str, ...] | None = None
    times: float = 1.0
    assumed: bool = False
    op_name: str = ""
    place: SourceLine | None = None
    groups: Groups = field(default=(), repr=False)
    start: int = 0
    end: int | None = None

    @property
    def wire(self) -> float:
        """Bytes that each device sends in one run, by a ring algorithm."""
        return wire_bytes(self.kind, self.payload, self.group_size)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`; `bytes` and `wire_bytes` are of one run."""
        return {
            "kind": self.kind,
            "instruction": self.instruction,
            "bytes": self.payload,
            "wire_bytes": self.wire,
            "group_size": self.group_size,
            "axes": None if self.axes is None else list(self.axes),
            "times": self.times,
            "assumed": self.assumed,
            "op_name": self.op_name,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
        }


def collectives_of(
    module: Module,
    mesh: Mapping[str, int] | None = None,
    runs: Sequence[Executed] | None = None,
) -> list[Collective]:
    """Every collective that runs, the one that sends the most first; also those in fusions.

    Args:
        module: the optimized HLO of one device.
        mesh: the size of each axis, the slowest first, to name the axes by.
        runs: the result of `executed`, if it is known already.
    """
    origins, runs = Origins(module), executed(module) if runs is None else runs
    ends = Ends(module, runs)
    found: dict[object, Collective] = {}
    for number, run in enumerate(runs):
        for instruction in _within(run.instruction):
            key = _step_of(instruction) or (number, instruction)
            if key in found:  # a later step of the same collective
                found[key] = replace(found[key], end=number)
                continue
            each = _collective(instruction, run, module, mesh, origins)
            found[key] = replace(each, start=number, end=ends.of(number, instruction))
    return sorted(found.values(), key=lambda each: -each.wire * each.times)


def _step_of(instruction: Instruction) -> tuple[str, str] | None:
    """What all steps of one collective share; None for a collective in one piece.

    The TPU compiler fuses the steps of an asynchronous collective with the computation that runs
    meanwhile. Each of these fusions has a copy of the collective.
    """
    chain = _CHAIN.search(instruction.attributes.get("frontend_attributes", ""))
    return (instruction.attributes.get("channel_id", ""), chain[1]) if chain else None


class Ends:
    """Where the results of asynchronous instructions are awaited.

    Args:
        module: the optimized HLO.
        runs: its instructions that run.
    """

    def __init__(self, module: Module, runs: Sequence[Executed]) -> None:
        self.runs = runs
        self.positions: dict[Computation, dict[Instruction, int]] = {}
        self.wrappers = {
            inner: start
            for computation in module.computations.values()
            for start in computation.instructions
            if start.opcode == "async-start"
            for inner in start.called
        }

    def of(self, number: int, instruction: Instruction) -> int | None:
        """The number of the first instruction that runs after the `-done`; None without one."""
        start = self.wrappers.get(instruction.computation, instruction)
        if not start.opcode.endswith("-start"):
            return None
        order = self._order(start.computation)
        done = _done(start)
        position = order[done] if done else len(order)
        for later in range(number + 1, len(self.runs)):
            run = self.runs[later]
            inside = self.wrappers.get(run.instruction.computation, run.instruction)
            around = (*run.loops, inside)
            at = next((each for each in around if each.computation is start.computation), None)
            if at is None or order[at] > position:
                return later
        return len(self.runs)

    def _order(self, computation: Computation) -> dict[Instruction, int]:
        """The position of each instruction in the schedule of its computation."""
        if computation not in self.positions:
            numbered = enumerate(computation.instructions)
            self.positions[computation] = {each: number for number, each in numbered}
        return self.positions[computation]


def _done(start: Instruction) -> Instruction | None:
    """The `-done` of a `-start`, through its updates."""
    for user in start.users:
        if user.opcode.endswith("-done"):
            return user
        if user.opcode.endswith("-update"):
            return _done(user)
    return None


def _within(instruction: Instruction) -> Iterator[Instruction]:
    """The collectives that an instruction is, or has fused into it."""
    if kind_of(instruction):
        yield instruction
    elif instruction.opcode == "fusion":
        for computation in instruction.called:
            for inner in computation.instructions:
                yield from _within(inner)


def kind_of(instruction: Instruction) -> str | None:
    """The kind of a collective, one of `KINDS`; None for other instructions and for a `-done`."""
    opcode = instruction.opcode.removesuffix("-start")
    if opcode == "all-reduce" and instruction.computation.name.startswith(_REDUCED_SLICE):
        return "reduce-scatter"
    if instruction.attributes.get("is_host_transfer") == "true":  # to its own host
        return None
    return opcode if opcode in KINDS else None


def _collective(
    instruction: Instruction,
    run: Executed,
    module: Module,
    mesh: Mapping[str, int] | None,
    origins: Origins,
) -> Collective:
    kind = kind_of(instruction)
    assert kind is not None
    attributes = instruction.attributes
    text = attributes.get("replica_groups") or attributes.get("source_target_pairs") or "{}"
    if "device_ids" in attributes:  # belongs to the mesh in replica_groups
        text += f", device_ids={attributes['device_ids']}"
    devices = module.num_partitions * module.num_replicas
    groups = parse_groups(text, devices)
    axes = None
    if mesh and prod(mesh.values()) == devices and kind != "send":
        axes_of = axes_of_pairs if kind == "collective-permute" else axes_of_groups
        axes = axes_of(groups, mesh)
    # A permute may have a second operand for its result.
    has_one = kind in ("collective-permute", "ragged-all-to-all", "send")
    operands = instruction.operands[:1] if has_one else instruction.operands
    size = sum(operand.shape.bytes for operand in operands)
    return Collective(
        kind,
        instruction.name,
        size * len(groups[0]) if kind == "all-gather" else size,
        _group_size(kind, groups),
        axes,
        run.times,
        run.assumed,
        *_origin_of(instruction, run.instruction, origins),
        groups,
    )


def _origin_of(
    instruction: Instruction, launched: Instruction, origins: Origins
) -> tuple[str, SourceLine | None]:
    """Op name and line: its own, its fusion's, or those of the largest array that it sends.

    A collective into which XLA combined several small ones has neither.
    """
    op_name, place = instruction.op_name or launched.op_name, instruction.place or launched.place
    if place is not None or not launched.operands:
        return op_name, place
    largest = max(launched.operands, key=lambda operand: operand.shape.bytes)
    writer = origins.writer(largest.name, ())
    sent, where = origins.name_and_line(writer) if writer else ("", None)
    return op_name or sent, where


def _group_size(kind: str, groups: Groups) -> int:
    """The devices in a group; of a permute, those that can be reached from one another."""
    if kind != "collective-permute":
        return 2 if kind == "send" else max(map(len, groups))
    parts: list[set[int]] = []
    for pair in groups:
        joined = [part for part in parts if part & set(pair)]
        parts = [part for part in parts if part not in joined]
        parts.append(set(pair).union(*joined))
    return max(map(len, parts), default=1)


# -- the devices that exchange data ----------------------------------------------------------------


def parse_groups(text: str, devices: int) -> Groups:
    """The groups in a `replica_groups=` or the pairs in a `source_target_pairs=`.

    Args:
        text: `{{0,1},{2,3}}`, `[2,2]<=[4]T(1,0)` or `mesh['x'=2,'y'=2] {'y'}`; `{}` is all devices.
        devices: how many there are.

    Raises:
        ValueError: it is none of these.
    """
    text = text.strip()
    if text.startswith("{"):
        listed = tuple(_numbers(found) for found in _LISTED.findall(text[1:-1]))
        return listed or (tuple(range(devices)),)
    ids = _iota(text) if "<=" in text.partition(" ")[0] else _of_mesh(text)
    return tuple(tuple(map(int, row)) for row in ids)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each.strip())


def _iota(text: str) -> np.ndarray:
    """`[2,4]<=[4,2]T(1,0)`: 0, 1, 2, ... shaped [4,2], transposed, then shaped [2,4]."""
    found = _IOTA.match(text)
    if found is None:
        raise ValueError(f"{text!r} is not a list of device groups")
    dims = _numbers(found[2])
    ids = np.arange(np.prod(dims)).reshape(dims)
    ids = ids.transpose(_numbers(found[3])) if found[3] else ids
    return ids.reshape(_numbers(found[1])) if found[1] else ids


def _of_mesh(text: str) -> np.ndarray:
    """`mesh['x'=2,'y'=4] {'y'}`: a group for each coordinate along the other axes.

    A part of an axis may be named: `'x':(2)4` is its digit of size 4 after one of size 2.
    """
    found = _MESH.match(text)
    if found is None:
        raise ValueError(f"{text!r} is not a list of device groups")
    sizes = {name: int(size) for name, size in _AXIS.findall(found[1])}
    parts = {
        name: (int(pre or 1), int(size or sizes[name]))
        for name, pre, size in _PART.findall(found[3])
    }
    shape: list[int] = []
    for name, size in sizes.items():
        before, part = parts.get(name, (1, 1))
        shape += [before, part, size // before // part]
    listed = found[2]
    if listed is None:
        ids = np.arange(np.prod(shape))
    else:
        ids = _iota(listed) if listed.startswith("[") else np.array(_numbers(listed))
    return _grouped(ids.reshape(shape), [3 * list(sizes).index(name) + 1 for name in parts])


def _grouped(ids: np.ndarray, dims: list[int]) -> np.ndarray:
    """A row for each coordinate along the other dimensions: the devices along `dims`."""
    rest = [dim for dim in range(ids.ndim) if dim not in dims]
    width = int(np.prod([ids.shape[dim] for dim in dims]))
    return ids.transpose(rest + dims).reshape(-1, width)


def axes_of_groups(groups: Groups, mesh: Mapping[str, int]) -> tuple[str, ...] | None:
    """The axes along which devices of a group differ; None if these are not whole axes.

    Args:
        groups: of all devices of the mesh.
        mesh: the size of each axis, the slowest first.
    """
    wanted = {frozenset(group) for group in groups}
    names = [name for name, size in mesh.items() if size > 1]
    for count in range(len(names) + 1):
        for axes in combinations(names, count):
            if set(map(frozenset, groups_along(axes, mesh))) == wanted:
                return axes
    return None


def axes_of_pairs(pairs: Groups, mesh: Mapping[str, int]) -> tuple[str, ...]:
    """The axes along which some device sends to another."""
    sizes = list(mesh.values())
    moved: set[int] = set()
    for source, target in pairs:
        coordinates = (np.unravel_index(each, sizes) for each in (source, target))
        moved |= {axis for axis, (a, b) in enumerate(zip(*coordinates, strict=True)) if a != b}
    return tuple(name for axis, name in enumerate(mesh) if axis in moved)


def groups_along(axes: tuple[str, ...], mesh: Mapping[str, int]) -> Groups:
    """The groups of devices that differ only in their coordinates along `axes`."""
    sizes = list(mesh.values())
    ids = np.arange(np.prod(sizes)).reshape(sizes)
    rows = _grouped(ids, [number for number, name in enumerate(mesh) if name in axes])
    return tuple(tuple(map(int, row)) for row in rows)
