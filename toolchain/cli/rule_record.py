"""How our rules were checked: what `scripts/check_rules.py` wrote beside them."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..rewrite import Rule

_PACKAGE = "jxc.passes"


def how_checked(rule: Rule) -> str:
    """On how many generated programs a rule of ours was compared, and for which types proved.

    Empty for rules of others; "not yet counted" for one that the last full run did not know.
    """
    if not rule.function.__module__.startswith(f"{_PACKAGE}."):
        return ""
    return phrase(_recorded()["rules"].get(rule.name))


def phrase(record: dict[str, Any] | None) -> str:
    """One rule's entry in the file, in words."""
    if record is None:
        return "not yet counted"
    checked = f"checked on {record['checked']} generated programs"
    if wrong := record.get("wrong"):
        return f"{checked}; WRONG on {wrong} more"
    if proved := record.get("proved"):
        how = "proved in part" if record.get("status") == "in part" else "proved"
        return f"{checked}; {how} for {_types(proved)}"
    return checked


def _types(names: list[str]) -> str:
    """Single types in full, and how many mixtures such as "i1, f32"."""
    single = [name for name in names if "," not in name]
    mixed = len(names) - len(single)
    return ", ".join(
        [*single, *([f"{mixed} mixture{'s' * (mixed > 1)} of types"] if mixed else [])]
    )


@cache
def _recorded() -> dict[str, Any]:
    file = resources.files(_PACKAGE) / "checked.json"
    return json.loads(file.read_text()) if file.is_file() else {"rules": {}}
