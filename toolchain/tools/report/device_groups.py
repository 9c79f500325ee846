"""Which devices exchange data in a collective, and along which axes of a mesh they are.

A group lists devices by their number in the program: of a mesh the first axis varies slowest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain, combinations

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

    An axis may be named in part: `'x':(2)4` is the digit of 4 behind one of 2.
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
    ids = np.arange(np.prod(shape)) if found[2] is None else _device_ids(found[2])
    joined = [3 * list(sizes).index(name) + 1 for name in parts]
    rest = [each for each in range(len(shape)) if each not in joined]
    width = int(np.prod([shape[each] for each in joined]))
    return ids.reshape(shape).transpose(rest + joined).reshape(-1, width)


def _device_ids(text: str) -> np.ndarray:
    return _iota(text).reshape(-1) if "<=" in text else np.array(_numbers(text))


def axes_of_groups(groups: Groups, mesh: Mapping[str, int]) -> tuple[str, ...] | None:
    """The axes along which devices of a group differ; None where these are not whole axes.

    Args:
        groups: of all devices of the mesh.
        mesh: the size of each axis, the slowest first.
    """
    wanted = {frozenset(group) for group in groups}
    names = [name for name, size in mesh.items() if size > 1]
    for axes in _subsets(names):
        if {frozenset(group) for group in _along(axes, mesh)} == wanted:
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


def _subsets(names: list[str]) -> Iterable[tuple[str, ...]]:
    return chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))


def _along(axes: tuple[str, ...], mesh: Mapping[str, int]) -> np.ndarray:
    """The groups of devices that differ only in their coordinates along `axes`."""
    ids = np.arange(np.prod(list(mesh.values()))).reshape(list(mesh.values()))
    joined = [number for number, name in enumerate(mesh) if name in axes]
    rest = [number for number in range(len(mesh)) if number not in joined]
    width = int(np.prod([ids.shape[each] for each in joined]))
    return ids.transpose(rest + joined).reshape(-1, width)
