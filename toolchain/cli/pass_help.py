"""What `jxc opt --list-passes` and `--help-pass` print.

A rule's help ends with how it was checked, from the counts that `scripts/check_rules.py` writes to
`passes/checked.json`.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError, did_you_mean
from ..units import counted

if TYPE_CHECKING:
    from ..pipeline import Library
    from ..rewrite import Rule


def list_passes(library: Library) -> None:
    """Print the name and the first line of help of every pass, and the levels."""
    from ..pipeline import LEVELS, our_passes
    from ..pipeline.library import plugins
    from ..pipeline.native import NATIVE_PASSES

    _section("Loaded", {p.name: p.doc for p in library.loaded.values()})
    _section("Passes of jxc", {p.name: p.doc for p in our_passes()})
    by_package: dict[str, dict[str, str]] = {}
    for package, found in plugins().passes():
        by_package.setdefault(package, {})[found.name] = found.doc
    for package, docs in by_package.items():
        _section(f"Passes of {package}", docs)
    _section("Native passes", NATIVE_PASSES)
    shown = {name: ",".join(passes) for name, passes in LEVELS.items()}
    shown["O3"] = "O2, or what was measured to be faster, see `jxc tune`"
    _section("Levels", {name: text or "nothing" for name, text in shown.items()})


def _section(title: str, rows: dict[str, str]) -> None:
    """Print a table; its lines are cut to the width of a terminal, and whole for a pipe."""
    if not rows:
        return
    click.echo(f"{title}:")
    width = max(map(len, rows))
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for name, doc in rows.items():
        line = f"  {name:{width}}  {doc.strip().splitlines()[0]}"
        click.echo(line if len(line) <= columns else line[: columns - 1] + "…")


def help_pass(name: str, library: Library) -> None:
    """Print the help, options and rules of a pass, or a rule's equation and contract.

    Raises:
        UsageError: there is no pass or rule of that name.
    """
    from ..pipeline.native import NATIVE_PASSES

    found = library.find(name) or library.find_slowly(name)
    if found is None and name in NATIVE_PASSES:
        click.echo(f"{name} (native, MLIR's own): {NATIVE_PASSES[name]}")
        return
    if found is None:
        known = [*library.names(), *NATIVE_PASSES]
        raise UsageError(f"no pass or rule {name!r}.{did_you_mean(name, known)}")
    click.echo(_wrapped(f"{found.name}: {found.doc}"))
    if found.options:
        click.echo("\nOptions:")
    for option in found.options.values():
        kind = option.type.__name__.upper()
        default = str(option.default).lower() if option.type is bool else repr(option.default)
        hint = f": {option.help}" if option.help else ""
        click.echo(f"  {option.name}={kind}, default {default}{hint}")
    for rule in found.rules:
        click.echo(f"\n{rule.name} ({rule.terms})")
        click.echo(_wrapped(rule.doc, indent="  "))
        if checked := how_checked(rule):
            click.echo(_wrapped(f"[{checked}]", indent="  "))


def _wrapped(text: str, indent: str = "") -> str:
    """Paragraphs filled to the width of the terminal, 80 columns for a pipe; lists unchanged."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    filler = textwrap.TextWrapper(
        width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return "\n\n".join(
        textwrap.indent(paragraph, indent)
        if "\n- " in f"\n{paragraph}" or "\n  " in paragraph  # a list or an example
        else filler.fill(paragraph)
        for paragraph in text.split("\n\n")
    )


# How the rules were checked

_PACKAGE = "jxc.passes"


def how_checked(rule: Rule) -> str:
    """On how many generated programs a rule of jxc was checked, and for which types it is proved.

    Empty for a user's rules and for replacements written in JAX; "not yet counted" for one that is
    newer than the last full run.
    """
    if not rule.roots or not rule.function.__module__.startswith(f"{_PACKAGE}."):
        return ""
    return phrase(_recorded()["rules"].get(rule.name))


def phrase(record: dict[str, Any] | None) -> str:
    """The record of one rule in a sentence."""
    if record is None:
        return "not yet counted"
    checked = f"checked on {record['checked']} generated programs"
    if wrong := record.get("wrong"):
        return f"{checked}; WRONG on {wrong} more"
    if proved := record.get("proved"):
        how = "proved in part" if record.get("status") == "in part" else "proved"
        types = [name for name in proved if "," not in name]
        if mixed := len(proved) - len(types):  # of types such as "i1, f32"
            types.append(f"{counted(mixed, 'mixture')} of types")
        return f"{checked}; {how} for {', '.join(types)}"
    return checked


@cache
def _recorded() -> dict[str, Any]:
    file = resources.files(_PACKAGE) / "checked.json"
    return json.loads(file.read_text()) if file.is_file() else {"rules": {}}
