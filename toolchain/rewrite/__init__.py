"""Rules and passes, and the driver that applies them: what `jxc.rule` and its like are made of."""

from __future__ import annotations

from typing import Any

from .context import TARGETS, PassContext, promises
from .driver import apply_rules, rule_pass
from .former_names import warn_renamed
from .module_pass import File, Option, Pass, module_pass
from .rule import (
    Contract,
    Replacement,
    Rule,
    RuleCount,
    approximates,
    exact,
    kebab,
    reassociates,
    rule,
)
from .worklist import ConvergenceError, RuleError

__all__ = [
    "TARGETS",
    "Contract",
    "ConvergenceError",
    "File",
    "Option",
    "Pass",
    "PassContext",
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


def __getattr__(name: str) -> Any:
    if name != "Facts":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed("jxc.rewrite.Facts", "jxc.rewrite.PassContext")
    return PassContext
