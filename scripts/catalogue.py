"""Write `passes/README.md`: every pass and rule, with an example and how it was checked.

What it says comes from the docstrings, the lit cases and `passes/checked.json`. With --check it
writes nothing: exit code 1 where the file does not say what they say, or where a rule was checked
on no program in the last full run (`make rules`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ["JAX_PLATFORMS"] = "cpu"

from jaxlib.mlir import ir  # noqa: E402

from jxc.cli.pass_help import phrase  # noqa: E402
from jxc.ir import clone_module, functions  # noqa: E402
from jxc.pipeline import our_passes  # noqa: E402
from jxc.rewrite import Pass, Rule, apply_rules  # noqa: E402
from scripts.variants import context_for  # noqa: E402
from tests.lit_seeds import seeds_for  # noqa: E402

README = ROOT / "passes" / "README.md"
CHECKED = ROOT / "passes" / "checked.json"

_LINES = 12  # of an example; a longer one loses its middle
_HEAD = """\
# The passes

Made by `scripts/catalogue.py` from the rules, their lit cases and the last full run: do not edit.
"""


def catalogue(recorded: dict[str, Any]) -> str:
    """The whole file."""
    run = recorded["run"]
    about = (
        "Each rule was tried alone on programs generated from lit cases, mostly its own, varied in "
        "element types, extents, constants, attributes and operands. Where it fired, the program "
        f"was run before and after and compared by the rule's contract: jax {run['jax']}, jaxlib "
        f"{run['jaxlib']}, seed {run['seed']}. Where a rule is called proved, z3 showed for the "
        "element types named that no input tells before from after, on the programs of its lit "
        "cases; in part where some of these move elements, which z3 is not asked about."
    )
    parts = [_HEAD, _filled(about)]
    for found in our_passes():
        parts += _pass(found, recorded["rules"])
    return "\n".join(parts)


def _filled(text: str) -> str:
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False) + "\n"


def _pass(found: Pass, records: dict[str, Any]) -> Iterator[str]:
    yield f"## {found.name}\n"
    yield f"{found.doc}\n"
    if found.options:
        yield "\n".join(_option(name, found) for name in found.options) + "\n"
    for rule in found.rules:
        yield from _rule(rule, records.get(rule.name))


def _option(name: str, found: Pass) -> str:
    option = found.options[name]
    default = str(option.default).lower() if option.type is bool else repr(option.default)
    hint = f": {option.help}" if option.help else ""
    return f"- `{name}`, {option.type.__name__}, default `{default}`{hint}"


def _rule(rule: Rule, record: dict[str, Any] | None) -> Iterator[str]:
    yield f"### {rule.name}\n"
    yield f"{_escaped(rule.doc)}\n"
    yield f"*{rule.terms}; {phrase(record)}*\n"
    before, after = example(rule)
    yield f"```mlir\n{before}\n```\n\nbecomes\n\n```mlir\n{after}\n```\n"


def _escaped(text: str) -> str:
    """The equation with its stars and angles kept from Markdown."""
    return text.replace("*", "\\*").replace("<", "&lt;").replace("|", "\\|")


def example(rule: Rule) -> tuple[str, str]:
    """The ops of the first lit case on which the rule fires, before and after it.

    Raises:
        SystemExit: there is no such case.
    """
    for seed in seeds_for(rule):
        after = clone_module(seed.program.module)
        counts = apply_rules(after.operation, [rule], context_for(rule, seed.context))
        if any(count.hits for count in counts):
            return body(seed.program.module), body(after)
    sys.exit(f"catalogue.py: {rule.name} fires alone in no lit case of its own")


def body(module: ir.Module) -> str:
    """The ops of @main, as MLIR prints them, without the function around them."""
    lines = [each for each in str(functions(module)["main"]).splitlines()[1:-1] if each.strip()]
    if len(lines) > _LINES:
        lines[_LINES - 1 : -1] = [f"{lines[0][: -len(lines[0].lstrip())]}..."]
    return textwrap.dedent("\n".join(lines))


def stale(text: str, recorded: dict[str, Any]) -> list[str]:
    """What is wrong with the file in the repository, in sentences."""
    rules = [rule.name for found in our_passes() for rule in found.rules]
    idle = [name for name in rules if not recorded["rules"].get(name, {}).get("checked")]
    found = [f"{name} was checked on no program: run `make rules`" for name in idle]
    if not README.is_file() or README.read_text() != text:
        found.append("passes/README.md is out of date: run `python scripts/catalogue.py`")
    return found


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; is it up to date?")
    options = parser.parse_args()
    if not CHECKED.is_file():
        sys.exit("catalogue.py: passes/checked.json is not there: run `make rules`")
    recorded = json.loads(CHECKED.read_text())
    text = catalogue(recorded)
    if not options.check:
        README.write_text(text)
        return 0
    complaints = stale(text, recorded)
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
