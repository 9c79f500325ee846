"""Find the arguments of @main that have the batch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from jaxlib.mlir import ir

from jxc.errors import JxcError, UsageError, did_you_mean
from jxc.ir import argument_names
from jxc.ir.module import donated_arguments
from jxc.ir.values import shape_of

_KEYS = ((2,), (4,))
_SHOWN = 4  # names of arguments in a message


def batch_candidates(main: ir.OpView, arguments: str, dim: int) -> list[list[int]]:
    """Sets of arguments that may have the batch, by number; those to try first come first.

    There is one set of named arguments. Of those that are found, an argument that has the type of
    a result may be data, or a parameter of the same size by chance: it is in the first set only.

    Raises:
        UsageError: an argument does not exist or has no dimension `dim`.
        JxcError: no argument is named, and none or several may be meant.
    """
    values, names = list(main.regions[0].blocks[0].arguments), argument_names(main)
    if arguments:
        found = [at for each in arguments.split(",") for at in _named(each.strip(), names)]
        for at in found:
            if not _has_dims(values[at], dim):
                raise UsageError(
                    f"microbatch: argument {names[at]} is {values[at].type}, which has no "
                    f"dimension {dim}"
                )
        return [list(dict.fromkeys(found))]
    return _found(main, values, names, dim)


def _named(text: str, names: Sequence[str]) -> list[int]:
    if text.isdigit() and int(text) < len(names):
        return [int(text)]
    found = [at for at, name in enumerate(names) if name == text or _root(name) == text]
    if not found:
        raise UsageError(
            f"microbatch: the program uses no argument '{text}'.{did_you_mean(text, [*names])} It "
            f"uses {_listed(list(dict.fromkeys(map(_root, names))))}"
        )
    return found


def _root(name: str) -> str:
    """The parameter of the function that an argument is a part of."""
    return re.split(r"[\[.]", name, maxsplit=1)[0]


def _found(
    main: ir.OpView, values: Sequence[ir.Value], names: Sequence[str], dim: int
) -> list[list[int]]:
    """The only group of arguments of the same size along `dim` that may be data.

    Returns:
        The group with arguments that have the type of a result, if there are some, and without.
    """
    function = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    returned = set(function.results)
    donated = donated_arguments(main)
    state = {
        _root(name)
        for at, (value, name) in enumerate(zip(values, names, strict=True))
        if at in donated or (value.type in returned and _has_dims(value) and "[" in name)
    }
    groups: dict[int, list[int]] = {}
    may_be = [
        at
        for at, value in enumerate(values)
        if at not in donated and _root(names[at]) not in state and _may_be_data(value, dim)
    ]
    for at in may_be:
        if values[at].type not in returned:
            groups.setdefault(shape_of(values[at])[dim], []).append(at)
    if len(groups) == 1:
        ((size, found),) = groups.items()
        more = [at for at in may_be if shape_of(values[at])[dim] == size]
        return [more, found] if more != found else [found]
    advice = "microbatch{steps=4 arguments=x,y} or jxc fit --batch x,y"
    if not groups:
        raise JxcError(
            "microbatch: found no argument that has the batch. Arguments that are donated, keys of "
            "random numbers, or of the type of a result are taken for other data. If one of them "
            f"has the batch, name it, as in {advice}"
        )
    raise JxcError(
        "microbatch: the arguments that may be the batch have several sizes, "
        f"{_described(groups, names)}: name the arguments that have the batch, as in {advice}"
    )


def _has_dims(value: ir.Value, dim: int = 0) -> bool:
    """Whether a value has a dimension `dim`; tokens have none."""
    return isinstance(value.type, ir.RankedTensorType) and len(shape_of(value)) > dim


def _may_be_data(value: ir.Value, dim: int) -> bool:
    if not _has_dims(value, dim):
        return False
    is_key = str(ir.RankedTensorType(value.type).element_type) == "ui32"
    return not (is_key and shape_of(value) in _KEYS)


def _described(groups: Mapping[int, Sequence[int]], names: Sequence[str]) -> str:
    each = [f"{size} ({_listed([names[at] for at in group])})" for size, group in groups.items()]
    return "; ".join(each)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
