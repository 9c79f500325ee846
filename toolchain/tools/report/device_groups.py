"""Which devices exchange data in a collective, and along which axes of a mesh they are.

A group lists devices by their number in the program. The first axis of a mesh varies slowest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations

import numpy as np

Groups = tuple[tuple[int, ...], ...]

_LISTED = re.compile(r"\{([\d,\s]*)\}")
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(r"mesh\[(.*?)\]\s*(?:,\s*device_ids=\((.*)\)\s*)?\{(.*)\}$")
_AXIS = re.compile(r"'?([^',=]+?)'?=(\d+)")
_PART = re.compile(r"'?([^',:]+)'?(?::\((\d+)\)(\d+))?'?(?:,|$)")


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
    ids = _iota(text) if text.startswith("[") else _of_mesh(text)
    return tuple(tuple(map(int, row)) for row in ids)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each.strip())


def _iota(text: str) -> np.ndarray:
    """`[2,4]<=[4,2]T(1,0)`: 0, 1, 2, ... shaped [4,2], transposed, shaped [2,4]."""
    found = _IOTA.match(text)
    if found is None:
        raise ValueError(f"{text!r} is not a list of device groups")
    shape, dims = _numbers(found[1]), _numbers(found[2])
    ids = np.arange(np.prod(dims)).reshape(dims)
    return (ids.transpose(_numbers(found[3])) if found[3] else ids).reshape(shape)


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
        ids = _iota(listed) if "<=" in listed else np.array(_numbers(listed))
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
            if set(map(frozenset, _along(axes, mesh))) == wanted:
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


def _along(axes: tuple[str, ...], mesh: Mapping[str, int]) -> np.ndarray:
    """The groups of devices that differ only in their coordinates along `axes`."""
    sizes = list(mesh.values())
    ids = np.arange(np.prod(sizes)).reshape(sizes)
    return _grouped(ids, [number for number, name in enumerate(mesh) if name in axes])
