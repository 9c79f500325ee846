"""The arguments of a module as the user knows them."""

from __future__ import annotations

from jaxlib.mlir import ir

from ..cost.flops import bytes_of
from ..ir import functions


def global_arguments(module: ir.Module) -> list[tuple[str, int]]:
    """The name and the bytes of each argument of @main, whole: not one device's part.

    JAX's name of it is in its location, such as "params['w']"; "arg0" where there is none.
    """
    main = functions(module)["main"]
    block = main.regions[0].blocks[0]
    return [
        (_name(argument.location) or f"arg{number}", bytes_of(argument.type))
        for number, argument in enumerate(block.arguments)
    ]


def _name(location: ir.Location) -> str:
    text = str(location)
    return text.split('"')[1] if text.startswith('loc("') and ":" not in text else ""
