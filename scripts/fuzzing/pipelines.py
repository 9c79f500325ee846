"""Which pipelines a program goes through: the levels, random orders of passes, single rules."""

from __future__ import annotations

import random
from functools import cache

from jxc.pipeline import Pipeline, make_pipeline, our_passes

# MLIR's own, as far as the levels use them: its canonicalizer carries no contract of ours.
_NATIVE = ("inline{default-pipeline=}", "symbol-dce", "cse")
_LONGEST = 6


@cache
def rules() -> dict[str, str]:
    """Every rule that runs unasked, with the pass that it belongs to."""
    return {
        rule.name: found.name
        for found in our_passes()
        for rule in found.rules
        if rule.assumes is None
    }


@cache
def pipeline(text: str) -> Pipeline:
    """The pipeline of this spelling, looked up once."""
    return make_pipeline(text)


def choose(generator: random.Random, few: bool) -> list[str]:
    """The pipelines for one program.

    Args:
        generator: where every choice comes from.
        few: the levels and two more; else three of each kind.
    """
    count = 1 if few else 3
    orders = [_order(generator) for _ in range(count)]
    subsets = [_subset(generator) for _ in range(count)]
    singles = generator.sample(sorted(rules()), count)
    return ["O1", "O2", *orders, *subsets, *singles]


def _order(generator: random.Random) -> str:
    names = [*(found.name for found in our_passes()), *_NATIVE, "simplify", "simplify"]
    return ",".join(generator.choices(names, k=generator.randint(2, _LONGEST)))


def _subset(generator: random.Random) -> str:
    """`simplify` with about half of its rules, which then meet what the others would remove."""
    own = [name for name, owner in rules().items() if owner == "simplify"]
    chosen = ",".join(name for name in own if generator.random() < 0.5) or own[0]
    return f"inline{{default-pipeline=}},simplify{{enable-patterns={chosen}}}"
