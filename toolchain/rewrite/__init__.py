"""Rules and passes, and the driver that applies them: `jxc.rule` and `jxc.module_pass`."""

from __future__ import annotations

from typing import Any

from .annotations import has_annotation as has_annotation
from .driver import apply_rules as apply_rules, rule_pass as rule_pass
from .equation import equation as equation
from .former_names import warn_renamed
from .module_pass import (
    File as File,
    Option as Option,
    Pass as Pass,
    PassLike as PassLike,
    module_pass as module_pass,
)
from .remarks import (
    NoMatch as NoMatch,
    Remark as Remark,
    collect_remarks as collect_remarks,
    is_collecting as is_collecting,
    no_match as no_match,
    remark as remark,
)
from .rule import (
    TARGETS as TARGETS,
    Contract as Contract,
    PassContext as PassContext,
    Rule as Rule,
    RuleCount as RuleCount,
    RuleError as RuleError,
    RuleResult as RuleResult,
    approximates as approximates,
    exact as exact,
    kebab as kebab,
    promises as promises,
    reassociates as reassociates,
    rule as rule,
)
from .visit import once_per_visit as once_per_visit
from .worklist import ConvergenceError as ConvergenceError


def __getattr__(name: str) -> Any:
    if name != "Facts":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed("jxc.rewrite.Facts", "jxc.rewrite.PassContext")
    return PassContext
