"""Shardings as Python code: `in_shardings` and `out_shardings` for `jax.jit`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax
from jax.tree_util import keystr

from ....backend.lowered import Lowered
from ....ir.shardings import Spec
from .shardings import starred_path

_MESH = """\
mesh = jax.make_mesh({sizes}, {names}, axis_types=(AxisType.Auto,) * {count})
"""
_REORDERED_MESH = """\
devices = mesh_utils.create_device_mesh({sizes}, allow_split_physical_axes=True)
mesh = Mesh(devices, {names}, axis_types=(AxisType.Auto,) * {count})
"""
_CODE = '''\
import re
import jax
{imports}
{mesh}

def by_path(tree, specs):
    """The sharding of each leaf by its path, in which * stands for a number."""
    def sharding(path, _):
        name = jax.tree_util.keystr(path)
        for pattern, spec in specs.items():
            if re.fullmatch(re.escape(pattern).replace(r"\\*", r"\\d+"), name):
                return NamedSharding(mesh, spec)
        return NamedSharding(mesh, P())
    return jax.tree_util.tree_map_with_path(sharding, tree)


in_shardings = by_path(arguments, {{{given}}})
out_shardings = by_path(jax.eval_shape({function}, *arguments), {{{made}}})
fast = {jit}({function}, {plan}in_shardings=in_shardings, out_shardings=out_shardings)
'''


def code_of(
    lowered: Lowered,
    specs: Mapping[int, Spec],
    mesh: Mapping[str, int],
    *,
    is_reordered: bool = False,
    plan: str = "",
) -> str:
    """Code that jits a function with shardings, which uses its tuple `arguments`.

    With a plan it calls `jxc.jit`, else `jax.jit`.

    Args:
        lowered: the program.
        specs: of the arguments and then the results of @main, by position.
        mesh: the sizes of the axes.
        is_reordered: whether `jax.make_mesh` cannot lay the mesh on the hardware.
        plan: the name of a plan's file; empty for none.

    Returns:
        The code; empty for a module from a file, and for a function with keyword arguments, for
        which `jax.jit` takes no shardings.
    """
    if lowered.function is None or jax.tree.leaves(lowered.jax_lowered.args_info[1]):
        return ""
    used = {leaf: at for at, leaf in enumerate(lowered.used_arguments)}
    count = len(used)
    given = ((path, specs.get(used.get(leaf, -1), ())) for leaf, path in _paths(lowered.arguments))
    results = _paths(lowered.jax_lowered.out_info)
    made = ((path, specs.get(count + leaf, ())) for leaf, path in results)
    own = ["AxisType", *["Mesh"] * is_reordered, "NamedSharding", "PartitionSpec as P"]
    imports = f"from jax.sharding import {', '.join(own)}"
    if is_reordered:
        imports = f"from jax.experimental import mesh_utils\n{imports}"
    if plan:
        imports = f"import jxc\n{imports}"
    name = getattr(lowered.function, "__name__", "")
    form = _REORDERED_MESH if is_reordered else _MESH
    axes = form.format(sizes=tuple(mesh.values()), names=tuple(mesh), count=len(mesh))
    return _CODE.format(
        imports=imports,
        mesh=axes,
        given=_entries(given),
        made=_entries(made),
        jit="jxc.jit" if plan else "jax.jit",
        plan=f"pipeline={plan!r}, " if plan else "",
        function=name if name.isidentifier() else "step",
    )


def _paths(tree: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    return ((leaf, path) for leaf, (path, _) in enumerate(flat))


def _entries(leaves: Iterable[tuple[tuple[Any, ...], Spec]]) -> str:
    """The lines of a dict: the spec of each path that is split."""
    named = [(_patterns(path), spec) for path, spec in leaves]
    specs = defaultdict(set)
    for patterns, spec in named:
        for pattern in patterns:
            specs[pattern].add(spec)
    found: dict[str, Spec] = {}
    for patterns, spec in named:
        pattern = next(each for each in patterns if len(specs[each]) == 1)
        found |= {pattern: spec} if spec else {}
    lines = [f"    {key!r}: P({_dims(spec)}),\n" for key, spec in found.items()]
    return "".join(["\n", *lines]) if lines else ""


def _patterns(path: tuple[Any, ...]) -> list[str]:
    """A path with * for all of its numbers, for fewer of them, and for none."""
    first, name = keystr(path[:1]), keystr(path)
    rest = name[len(first) :]
    count = starred_path(rest).count("*")
    return [*(first + starred_path(rest, kept) for kept in range(count)), name]


def _dims(spec: Spec) -> str:
    """The dimensions of a `PartitionSpec`."""
    names = [repr(axes[0]) if len(axes) == 1 else repr(axes or None) for axes in spec]
    return ", ".join(names)
