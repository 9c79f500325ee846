"""Advice on donating arguments: results of the same type can be written into their memory."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...check.modules import main_type
from ...compiled.program import Refused, start_compilation
from ...cost.flops import bytes_of
from ...ir import argument_names, clone_module
from ...ir.module import donated_arguments, main_of
from ...units import show_bytes

_SMALL = 0.01
"""The share below which donating is not advised: of what a program needs, and of all donations."""


@dataclass(frozen=True)
class Donation:
    """Arguments whose memory results can take.

    Attributes:
        names: the parameters of the function.
        argnums: the positions of those that can be passed by position.
        argnames: the names of the others.
        bytes: of one device that donating them frees, by the compiler.
    """

    names: tuple[str, ...]
    argnums: tuple[int, ...]
    argnames: tuple[str, ...]
    bytes: int

    def __str__(self) -> str:
        typed = [f"donate_argnums={self.argnums}"] if self.argnums else []
        typed += [f"donate_argnames={self.argnames}"] if self.argnames else []
        call = f": jax.jit(..., {', '.join(typed)})" if typed else ""
        return (
            f"donating {', '.join(self.names)} frees {show_bytes(self.bytes)} more, if the caller "
            f"does not use the old arrays afterwards{call}"
        )

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        lists = {"donate_argnums": [*self.argnums], "donate_argnames": [*self.argnames]}
        return {"parameters": [*self.names], **lists, "bytes": self.bytes}


@contextmanager
def start_donation(
    version: Lowered, target: Target, needed: int
) -> Iterator[Callable[[], Donation | None]]:
    """Compile a version of a program with donated arguments, until the context is left.

    A donation saves less than the results take where the compiler puts temporaries into the memory
    of results.

    Args:
        version: the program that runs.
        target: the hardware.
        needed: bytes of one device that it needs, by the compiler.

    Yields:
        What waits for the compiler, and returns what donating frees; None if it is little.
    """
    groups = _donable(version.module)
    if not groups:
        yield lambda: None
        return
    donating = _donating(version.module, [n for numbers in groups.values() for n in numbers])
    with start_compilation(donating, target, {}, version.mesh) as running:

        def result() -> Donation | None:
            made = running.result()
            freed = 0 if isinstance(made, Refused) else needed - made.fit.needed
            if freed <= _SMALL * needed:
                return None
            return Donation(tuple(groups), *_typed(version.function, list(groups)), freed)

        yield result


def _donable(module: ir.Module) -> dict[str, list[int]]:
    """By parameter, the arguments whose types are those of results that no argument takes yet.

    Parameters of which less than half of the bytes fit are left out: JAX warns of the rest. So are
    small ones, such as a learning rate that has the type of the loss.
    """
    main = main_of(module)
    if main is None:
        return {}
    types = main_type(module)
    free = Counter(types.results)
    donated = donated_arguments(main)
    free.subtract(types.inputs[number] for number in donated)
    parameters: dict[str, list[int]] = {}
    for number, name in enumerate(argument_names(main)):
        if number not in donated:
            parameters.setdefault(name.partition("[")[0].partition(".")[0], []).append(number)
    found: dict[str, list[int]] = {}
    for name, numbers in parameters.items():
        taken = []
        for number in numbers:
            if free[types.inputs[number]] > 0:
                free[types.inputs[number]] -= 1
                taken.append(number)
        sizes = [sum(bytes_of(types.inputs[n]) for n in each) for each in (taken, numbers)]
        if taken and 2 * sizes[0] >= sizes[1]:
            found[name] = taken
        else:
            free.update(types.inputs[number] for number in taken)
    bytes_ = {name: sum(bytes_of(types.inputs[n]) for n in found[name]) for name in found}
    return {name: found[name] for name in found if bytes_[name] > _SMALL * sum(bytes_.values())}


def _donating(module: ir.Module, numbers: Sequence[int]) -> ir.Module:
    """A copy of a module that donates more arguments."""
    copy = clone_module(module)
    with copy.context:
        main = main_of(copy)
        assert main is not None
        count = len(main.regions[0].blocks[0].arguments)
        given = main.attributes["arg_attrs"] if "arg_attrs" in main.attributes else [{}] * count
        kept = [{each.name: each.attr for each in own} for own in map(ir.DictAttr, given)]
        for number in numbers:
            kept[number]["jax.buffer_donor"] = ir.BoolAttr.get(True)
        main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])
    return copy


def _typed(
    function: Callable[..., Any] | None, names: Sequence[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """`donate_argnums` and `donate_argnames` for parameters of a function."""
    try:
        parameters = inspect.signature(function).parameters if function else {}
    except (TypeError, ValueError):
        return (), ()
    order = list(parameters)
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [name for name in names if name in parameters]
    numbers = [order.index(n) for n in known if parameters[n].kind in by_position]
    named = [n for n in known if parameters[n].kind is inspect.Parameter.KEYWORD_ONLY]
    return tuple(numbers), tuple(named)
