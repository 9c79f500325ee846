"""Rules and passes, and the driver that applies them."""

from __future__ import annotations

from .contract import Contract, approximates, exact, reassociates
from .driver import apply_rules, rule_pass
from .facts import TARGETS, Facts, promises
from .module_pass import File, Option, Pass, module_pass
from .rule import Replacement, Rule, kebab, rule
from .statistics import RuleCount
from .sweep import ConvergenceError, RuleError

__all__ = [
    "TARGETS",
    "Contract",
    "ConvergenceError",
    "Facts",
    "File",
    "Option",
    "Pass",
    "Replacement",
    "Rule",
    "RuleCount",
    "RuleError",
    "apply_rules",
    "approximates",
    "exact",
    "kebab",
    "module_pass",
    "promises",
    "reassociates",
    "rule",
    "rule_pass",
]
