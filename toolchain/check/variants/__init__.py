"""Programs made from a program: other element types, extents, constants and attributes."""

from __future__ import annotations

from random import Random

from jaxlib.mlir import ir

from .compose import compose, is_composable
from .plan import Variation, draw_plan
from .program import SeedProgram
from .rebuild import NotValid, rebuild
from .trial import Trial, context_for, try_rule

__all__ = [
    "NotValid",
    "SeedProgram",
    "Trial",
    "Variation",
    "compose",
    "context_for",
    "is_composable",
    "rebuild",
    "try_rule",
    "vary",
]


def vary(program: SeedProgram, random: Random, *, mild: bool = False) -> ir.Module:
    """A variant of a program, verified, in the same context.

    Args:
        program: the model.
        random: where everything is drawn from; what it draws first of all changes nothing.
        mild: whether to draw no greatest floats as constants, see `Variation`.

    Raises:
        NotValid: what was drawn is no valid program; draw again.
    """
    return rebuild(program, draw_plan(program.types, random, mild=mild))
