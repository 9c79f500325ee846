"""The arguments of a module as the user knows them."""

from __future__ import annotations

from jaxlib.mlir import ir

from ...cost.flops import bytes_of
from ...ir import argument_names, functions


def global_arguments(module: ir.Module) -> list[tuple[str, int]]:
    """The name and the bytes of each argument of @main, whole: not one device's part."""
    main = functions(module)["main"]
    arguments = main.regions[0].blocks[0].arguments
    sizes = [bytes_of(argument.type) for argument in arguments]
    return list(zip(argument_names(main), sizes, strict=True))
