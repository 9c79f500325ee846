"""Write `passes/README.md`: every pass and rule, with an example and how it was checked.

The contents come from docstrings, lit cases and `passes/checked.json`. With --check, nothing is
written; the exit code is 1 if the file is out of date, or if a rule was checked on no program in
the last full run (`make rules`).
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
os.environ |= {"JAX_PLATFORMS": "cpu", "JXC_RATES": "shipped"}

from jaxlib.mlir import ir  # noqa: E402

from jxc.cli.pass_help import phrase  # noqa: E402
from jxc.ir import clone_module, functions  # noqa: E402
from jxc.pipeline import our_passes  # noqa: E402
from jxc.rewrite import Pass, Rule, apply_rules  # noqa: E402
from scripts.variants import context_for  # noqa: E402
from tests.lit_seeds import seeds_for  # noqa: E402

README = ROOT / "passes" / "README.md"
CHECKED = ROOT / "passes" / "checked.json"

_LINES = 12  # the maximum number of lines of an example; the middle of a longer one is omitted
_HEAD = """\
# The passes

Made by `scripts/catalogue.py` from the rules, their lit cases and the last full run: do not edit.
"""


def catalogue(recorded: dict[str, Any]) -> str:
    """The text of the file."""
    run = recorded["run"]
    about = (
        "Each rule was tried alone on programs generated from lit cases, mostly its own, with "
        "other element types, sizes, constants, attributes and operands. Where it fired, the "
        f"program was run before and after, and compared by the rule's contract: jax {run['jax']}, "
        f"jaxlib {run['jaxlib']}, seed {run['seed']}. A rule is proved for an element type if "
        "z3 showed that the programs of its lit cases have the same results before and after "
        "for every input. It is proved in part if some of these programs move elements, "
        "which the proofs do not cover."
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
    if not rule.roots:  # a replacement written in JAX, with tests of its own
        yield f"*{rule.terms}*\n"
        return
    yield f"*{rule.terms}; {phrase(record)}*\n"
    before, after = example(rule)
    yield f"```mlir\n{before}\n```\n\nbecomes\n\n```mlir\n{after}\n```\n"


def _escaped(text: str) -> str:
    """The equation with the characters escaped that Markdown interprets."""
    return text.replace("*", "\\*").replace("<", "&lt;").replace("|", "\\|")


def example(rule: Rule) -> tuple[str, str]:
    """The ops of the first lit case on which the rule fires, before and after it.

    Raises:
        SystemExit: the rule fires in no lit case.
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
    """Why the file in the repository is out of date; empty if it is not."""
    rules = [rule.name for found in our_passes() for rule in found.rules if rule.roots]
    idle = [name for name in rules if not recorded["rules"].get(name, {}).get("checked")]
    found = [f"{name} was checked on no program: run `make rules`" for name in idle]
    if not README.is_file() or README.read_text() != text:
        found.append("passes/README.md is out of date: run `python scripts/catalogue.py`")
    return found


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the file is out of date"
    )
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
