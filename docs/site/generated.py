"""The pages that are made when the site is built: passes, rules, targets, JSON objects.

They lie in `docs/reference/`, where git ignores them. Passes and
rules come from `passes/README.md`, which `scripts/catalogue.py` writes and `make check` compares
with the code; targets from the files that `jxc targets` and the cost model read.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import messages
from schemas import json_page

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "docs" / "reference"

_DEVICES = ROOT / "toolchain/cost/devices"
_RULE = re.compile(r"^### (\S+)\n\n(.*?)\n(?=### |\Z)", re.MULTILINE | re.DOTALL)
_CONTRACT = re.compile(r"^\*(exact|reassociates|approximates[^;*]*)", re.MULTILINE)


def write_pages(_app: object) -> None:
    """Write all generated pages; a page that would not change keeps its time."""
    for name, text in pages().items():
        path = PAGES / name
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
    known = {PAGES / name for name in pages()}
    for path in {*(PAGES / "passes").glob("*.md"), *(PAGES / "commands").glob("*.md")} - known:
        path.unlink()


def pages() -> dict[str, str]:
    """The text of each page, by its path in `docs/reference`."""
    head, *sections = re.split(r"^## ", (ROOT / "passes/README.md").read_text(), flags=re.MULTILINE)
    named = dict(section.split("\n", 1) for section in sections)
    found = {f"passes/{name}.md": "".join(_pass_page(name, text)) for name, text in named.items()}
    found["passes/index.md"] = "".join(_pass_list(head, named))
    found |= {f"commands/{name}.md": "".join(_command_page(name)) for name in _verbs()}
    found["json.md"] = json_page()
    found["_verbs.md"] = "".join(_verb_table(_verbs()))
    found["_messages.md"] = "".join(_all_messages())
    found["_devices.md"] = "".join(_devices())
    return found


def _pass_page(name: str, text: str) -> Iterator[str]:
    from jxc.pipeline.levels import LEVELS

    yield f"# {name}\n\n"
    levels = [level for level, names in LEVELS.items() if any(_named(each, name) for each in names)]
    yield f"Part of {', '.join(levels)}.\n\n" if levels else "Part of no level: name it.\n\n"
    yield re.sub(r"^(#+) ", lambda m: f"{m[1][1:]} ", text, flags=re.MULTILINE)


def _named(entry: str, name: str) -> bool:
    return entry.partition("{")[0] == name


def _pass_list(head: str, named: dict[str, str]) -> Iterator[str]:
    yield "# Passes and rules\n\n"
    yield f"{head.split('do not edit.')[1].strip()}\n\n"
    yield "The search finds each rule by its name. `jxc opt --help-pass NAME` prints the same.\n\n"
    yield "## Passes\n\n| pass | rules | what it does |\n|---|---|---|\n"
    for name, text in named.items():
        first = " ".join(text.strip().partition("\n\n")[0].split()).replace("|", "\\|")
        yield f"| [{name}]({name}.md) | {len(_RULE.findall(text))} | {first} |\n"
    yield "\n## Rules\n\n| rule | pass | contract |\n|---|---|---|\n"
    rules = [
        (rule, name, body) for name, text in named.items() for rule, body in _RULE.findall(text)
    ]
    for rule, name, body in sorted(rules):
        contract = _CONTRACT.search(body)
        yield f"| [{rule}]({name}.md#{rule}) | {name} | {contract[1] if contract else ''} |\n"
    listed = "\n".join(named)
    yield f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def _verbs() -> dict[str, str]:
    from jxc.cli import _VERBS

    return _VERBS


def _command_page(verb: str) -> Iterator[str]:
    name = verb.replace("-", "_")
    yield f"```{{eval-rst}}\n.. click:: jxc.cli.{name}:{name}_command\n"
    yield f"   :prog: jxc {verb}\n```\n"


def _verb_table(verbs: dict[str, str]) -> Iterator[str]:
    yield "| verb | what it does |\n|---|---|\n"
    yield from (
        f"| [`jxc {name}`](commands/{name}.md) | {what} |\n" for name, what in verbs.items()
    )


def _all_messages() -> Iterator[str]:
    known = sorted(messages.messages(), key=lambda each: (each.part, each.text.lstrip("…: ")))
    for part, group in itertools.groupby(known, key=lambda each: each.part):
        yield f"### {part}\n\n"
        yield from (f"- {_as_code(each.text)}, {each.error}\n" for each in group)
        yield "\n"


def _as_code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _devices() -> Iterator[str]:
    for path in sorted(_DEVICES.glob("*.toml")):
        yield from _device(path.stem, tomllib.loads(path.read_text()))


def _device(name: str, facts: dict[str, Any]) -> Iterator[str]:
    yield f"### {facts['kind']}:{name}\n\n| | |\n|---|---|\n"
    yield f"| memory | {facts['memory_bytes'] / 2**30:.1f} GiB |\n"
    yield f"| bandwidth | {facts['bandwidth'] / 1e9:,.0f} GB/s |\n"
    rates = ", ".join(f"{kind} {rate / 1e12:g}" for kind, rate in facts["peak_flops"].items())
    yield f"| peak, in 10^12 operations a second | {rates} |\n"
    yield f"| source | {facts['source']} |\n\n"


def link_passes(_app: object, _name: str, source: list[str]) -> None:
    """Replace links to `passes/README.md` by links to the pages that are made of it."""
    source[0] = re.sub(
        r"\]\([./]*passes/README\.md\)", "](/docs/reference/passes/index.md)", source[0]
    )
