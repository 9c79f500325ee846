"""Random programs: variants of the lit cases of rules, composed by `scripts/variants`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from jxc.ir import make_context, read_module, write_text
from scripts.variants import NotValid, SeedProgram, compose, is_composable
from tests.lit_seeds import all_seeds

_FOCUSED_OPS = 14  # ops of a program from the cases of one or two rules
_ATTEMPTS = 8


@cache
def parts() -> dict[str, list[SeedProgram]]:
    """The cases that can be composed, by rule, in one context."""
    context = make_context()
    found: dict[str, list[SeedProgram]] = {}
    for seed in all_seeds():
        if is_composable(seed.program):
            module = read_module(write_text(seed.program.module).encode(), context, name="lit")
            found.setdefault(seed.rule, []).append(SeedProgram.of(module))
    return found


def random_program(seed: str, most_ops: int, *, about: str | None = None) -> str:
    """The text of a module with @main; the same for the same seed.

    Args:
        seed: determines every choice.
        most_ops: the approximate maximum number of ops; most programs have fewer.
        about: the name of a rule, for small programs of its cases; None for cases of any rules.
    """
    random = Random(seed)
    is_small = about is not None or not random.randrange(2)
    ops = min(most_ops, _FOCUSED_OPS) if is_small else most_ops
    for _ in range(_ATTEMPTS):
        try:
            return write_text(compose(_chosen(random, is_small, about), random, ops))
        except NotValid:
            continue
    raise NotValid(f"no valid program from the seed {seed}")


def _chosen(random: Random, is_small: bool, about: str | None) -> Sequence[SeedProgram]:
    rules = random.sample(list(parts()), random.randint(1, 2) if is_small else random.randint(2, 8))
    if about is not None:
        rules = [about, about, *rules[1:]]
    return [program for rule in rules for program in parts()[rule]]
