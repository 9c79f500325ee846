"""The generator of random programs: variants of a given program, and several composed into one.

A variant (`vary`) has other element types, sizes, constants, attributes and operands. `try_rule`
applies one rule to one variant and compares; `compose` connects variants of several programs.
"""

from __future__ import annotations

from random import Random

from jaxlib.mlir import ir

from jxc.check.rebuild import NotValid

from .compose import compose, is_composable
from .program import SeedProgram
from .trial import Trial, context_for, try_rule
from .variation import Variation, build_variant, draw_variation

__all__ = [
    "NotValid",
    "SeedProgram",
    "Trial",
    "Variation",
    "build_variant",
    "compose",
    "context_for",
    "is_composable",
    "try_rule",
    "vary",
]


def vary(program: SeedProgram, random: Random, *, mild: bool = False) -> ir.Module:
    """A variant of a program, verified, in the same context.

    Args:
        program: the program to vary.
        random: the source of all choices.
        mild: whether to draw no greatest floats as constants, see `Variation`.

    Raises:
        NotValid: the drawn program is not valid; draw again.
    """
    return build_variant(program, draw_variation(program.types, random, mild=mild))
