"""Every rule of every pass fires in the lit files of its pass, and each has a case against it."""

from __future__ import annotations

import re
from collections import Counter

from jxc.pipeline import our_passes

from ..lit_cases import FILES, rewrite, runs


def _hits() -> Counter[str]:
    hits: Counter[str] = Counter()
    for file in FILES:
        for run in runs(file):
            for piece in run.pieces():
                hits.update(rewrite(piece, run).report.hits)
    return hits


def test_every_rule_fires_in_its_lit_cases() -> None:
    hits = _hits()
    # replacements, which have no roots, are tested in test_kernels.py
    rules = [rule.name for found in our_passes() for rule in found.rules if rule.roots]
    assert rules
    assert not [name for name in rules if not hits[name]], "no lit case makes these rules fire"


def test_rule_names_are_unique() -> None:
    names = Counter(rule.name for found in our_passes() for rule in found.rules)
    assert not [name for name, count in names.items() if count > 1]


def test_every_rule_has_a_negative_lit_case() -> None:
    """The function is called after its rule: `negate_of_negate_not_once`."""
    text = "".join(file.read_text() for file in FILES)
    functions = re.findall(r"^ *func\.func (?:\w+ )?@(\w+)\(", text, flags=re.MULTILINE)
    against = [name for name in functions if "_not" in name]
    rules = [rule.name for found in our_passes() for rule in found.rules if rule.roots]
    stems = (name.replace("-", "_") for name in rules)
    assert not [stem for stem in stems if not any(name.startswith(stem) for name in against)]
