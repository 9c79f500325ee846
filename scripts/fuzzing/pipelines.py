"""The pipelines for a program: levels, random orders of passes, some rules, one rule."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from functools import cache

from jxc.pipeline import Pipeline, make_pipeline, our_passes
from jxc.rewrite import File, Pass

# Only the native passes that the levels use: MLIR's canonicalizer has no contract of jxc.
_NATIVE = ("inline{default-pipeline=}", "symbol-dce", "cse")
_LONGEST = 6
_INLINED = "inline{default-pipeline=}"  # no rule matches across a call


@cache
def rules() -> dict[str, str]:
    """The pass of each rule that needs no assumption, by the name of the rule."""
    return {
        rule.name: found.name
        for found in our_passes()
        for rule in found.rules
        if rule.assumes is None
    }


@cache
def pipeline(text: str) -> Pipeline:
    """The pipeline with this text, parsed once."""
    return make_pipeline(text)


LEVELS = ("O1", "O2")


def choose(generator: random.Random, fired: Collection[str], few: bool) -> list[str]:
    """The pipelines for one program, in addition to the levels.

    Args:
        generator: the source of every choice.
        fired: the rules that the levels applied to it.
        few: whether to choose one of each kind, not three.
    """
    count = 1 if few else 3
    ours = sorted(name for name in fired if name in rules())
    singles = generator.sample(ours, min(len(ours), 2 * count))
    return [
        *(_order(generator) for _ in range(count)),
        *(_subset(generator, ours) for _ in range(count + 1)),
        *(_alone(name) for name in singles),
        *(_without(generator, ours) for _ in range(count if ours else 0)),
        *(_alone(name) for name in generator.sample(sorted(rules()), count)),
    ]


def _order(generator: random.Random) -> str:
    names = [found.name for found in our_passes() if _keeps_results(found)]
    names += [*_NATIVE, "simplify", "simplify"]
    return ",".join(generator.choices(names, k=generator.randint(2, _LONGEST)))


def _keeps_results(found: Pass) -> bool:
    """Whether a pass adds no results, takes no file, and applies to any program."""
    is_for_steps = found.name == "microbatch"  # it refuses programs without a batch
    return (
        not found.adds_results
        and not is_for_steps
        and all(option.type is not File for option in found.options.values())
    )


def _alone(name: str) -> str:
    """One rule alone."""
    return f"{_INLINED},{name}"


def _simplify(option: str, names: Sequence[str]) -> str:
    own = [name for name in names if rules().get(name) == "simplify"]
    return f"{_INLINED},simplify{{{option}={','.join(own)}}}" if own else f"{_INLINED},simplify"


def _subset(generator: random.Random, fired: Sequence[str]) -> str:
    """Some rules of `simplify`: they match ops that the other rules would remove."""
    share, others = generator.choice(((0.3, 0.0), (0.6, 0.0), (0.6, 0.1), (0.5, 0.5)))
    chosen = [name for name in fired if generator.random() < share]
    return _simplify(
        "enable-patterns", [*chosen, *(n for n in rules() if generator.random() < others)]
    )


def _without(generator: random.Random, fired: Sequence[str]) -> str:
    """`simplify` without one or two rules that fire: the others match what these would remove."""
    return _simplify("disable-patterns", generator.sample(fired, min(len(fired), 2)))
