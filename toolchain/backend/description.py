"""Programs described: executables in a line, as a table and as HTML; lowered ones as HTML."""

from __future__ import annotations

from typing import Any

from ..ir import count_ops, write_text
from ..units import show_bytes, show_count

_LARGEST_CONSTANT = 16  # elements, or characters of a resource, that a notebook shows


def lowered_as_html(lowered: Any) -> str:
    """A `Lowered` as HTML: its name, its passes and rules, and its first lines."""
    from ..display.fragment import code, fragment

    text = write_text(lowered.module, elide_larger_than=_LARGEST_CONSTANT)
    after = f"after {lowered.pipeline}" if lowered.pipeline else ""
    ops = f"{count_ops(lowered.module):,} ops"
    rewrites = [lowered.report.rewrites_as_html()] if lowered.report else []
    program = code(text, "stablehlo", "print(low.as_text())")
    facts = (lowered.name, ops, f"for {lowered.platform}", after)
    return fragment("jxc.Lowered", facts, [*rewrites, program])


def describe(executable: Any) -> str:
    """An `Executable` or `CrossExecutable` in one line, with the compiler's counts."""
    cost, memory = executable.cost(), executable.memory()
    return (
        f"<jxc.{type(executable).__name__} {executable.lowered.name} for {_where(executable)}: "
        f"{show_count(cost.get('flops', 0))} flops, "
        f"{show_bytes(cost.get('bytes accessed', 0))} accessed, "
        f"{show_bytes(memory['temp'])} temporaries>"
    )


def as_table(executable: Any) -> str:
    """The compiler's counts, a line each, as `jxc compile` prints them."""
    return "\n".join(f"{name:8}{value}" for name, value in _numbers(executable).items())


def as_html(executable: Any) -> str:
    """The compiler's counts as an HTML table."""
    from ..display.fragment import fragment, table

    rows = [(name, value) for name, value in _numbers(executable).items() if value]
    return fragment(f"jxc.{type(executable).__name__}", (), [table(("", ""), rows)])


def _numbers(executable: Any) -> dict[str, str]:
    cost, memory = executable.cost(), executable.memory()
    return {
        "program": executable.lowered.name,
        "target": _where(executable),
        "flops": show_count(cost.get("flops", 0)),
        "bytes": f"{show_bytes(cost.get('bytes accessed', 0))} accessed",
        "memory": ", ".join(f"{name} {show_bytes(n)}" for name, n in memory.items() if n),
    }


def _where(executable: Any) -> str:
    target = getattr(executable, "target", None)  # of a `CrossExecutable`
    return target.name if target else "this machine"
