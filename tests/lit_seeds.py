"""The functions in the lit files of passes as separate programs, by the rule that each is for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jaxlib.mlir import ir

from jxc.check.modules import entry_names, with_main
from jxc.ir import make_context, read_module
from jxc.pipeline import our_passes
from jxc.rewrite import PassContext, Rule
from scripts.variants import SeedProgram

from .lit_cases import FILES, runs


@dataclass(frozen=True)
class Seed:
    """A function of a lit file.

    Attributes:
        name: the name of the function.
        rule: the name of the rule that it is for; empty for a pass without rules.
        is_against: whether the rule must not fire on it.
        file: the lit file.
        context: the target and the assumptions of the file's RUN line.
        program: the function as @main, with its callees.
    """

    name: str
    rule: str
    is_against: bool
    file: Path
    context: PassContext
    program: SeedProgram


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule of our passes, by name, without replacements written in JAX."""
    rules = (rule for found in our_passes() for rule in found.rules)
    return {rule.name: rule for rule in rules if rule.roots}


@cache
def all_seeds() -> tuple[Seed, ...]:
    """Every function of the lit files, in order; each file once for each target."""
    found: dict[tuple[Path, str, PassContext], Seed] = {}
    shared = make_context()
    for file in FILES:
        for run in runs(file):
            for piece in run.pieces():
                for seed in _seeds(file, piece, run.context, shared):
                    found.setdefault((file, seed.name, seed.context), seed)
    return tuple(found.values())


def _seeds(file: Path, piece: str, context: PassContext, shared: ir.Context) -> list[Seed]:
    module = read_module(piece, shared, name=str(file))
    found: list[Seed] = []
    for name in entry_names(module):
        rule = rule_of(name) or (found[-1].rule if found else "")
        is_against = re.search(r"_not(_|$)", name) is not None and not rule.endswith("-not")
        program = SeedProgram.of(with_main(module, name))
        found.append(Seed(name, rule, is_against, file, context, program))
    return found


def rule_of(function: str) -> str:
    """The rule that a function is named after; empty if there is none."""
    words = function.split("_")
    names = ("-".join(words[:count]) for count in range(len(words), 0, -1))
    return next((name for name in names if name in all_rules()), "")


def seeds_for(rule: Rule) -> Sequence[Seed]:
    """The seeds for a rule; those on which it fires come first."""
    own = [seed for seed in all_seeds() if seed.rule == rule.name]
    return sorted(own, key=lambda seed: seed.is_against)
