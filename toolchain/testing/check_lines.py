"""CHECK lines with captured names, written from the output of a case: `jxc test --update`.

lit runs the RUN lines of the case with a `filecheck` that saves its input. Each function of that
text becomes a CHECK-LABEL, its signature a CHECK-SAME and each line of its body a CHECK-NEXT.
The name of a value is captured where the value is defined, since MLIR numbers values anew when
ops are added. Names are those of the ops: `%[[ADD:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]]`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import JxcError, UsageError
from .lit_suite import run_lit

NOTE = "NOTE: `jxc test --update` writes the CHECK lines of this file"

_FUNCTION = re.compile(r'\s*func\.func (?:public |private |nested )?(@(?:[\w.$-]+|"[^"]*")\()(.*)')
_VALUE = re.compile(r"%([\w.$-]+)(?=((?::\d+)? = |: )?)")
_OP = re.compile(r'"?([a-z_]\w*(?:\.\w+)*)"?[ (<@]')


@dataclass
class CheckBlock:
    """The CHECK lines of a function; those before the first function have no name.

    Attributes:
        name: the function, such as "@main("; empty for text outside of functions.
        lines: the directives, without the characters of a comment.
    """

    name: str
    lines: list[str] = field(default_factory=list)


def check_blocks(text: str, prefix: str = "CHECK", folder: str = "") -> list[CheckBlock]:
    """The CHECK lines that match a text.

    Args:
        text: modules as MLIR prints them, or any other text.
        prefix: what the directives begin with.
        folder: a path that may be another one elsewhere; it matches anything.
    """
    blocks, names, outer = [CheckBlock("")], _Names(), 0
    for line in text.rstrip().splitlines():
        indent = len(line) - len(line.lstrip())
        if function := _FUNCTION.match(line):
            names, outer = _Names(), indent
            head = line.strip()[: line.strip().index(function[1]) + len(function[1])]
            blocks.append(CheckBlock(function[1], [f"{prefix}-LABEL: {head}"]))
            blocks[-1].lines.append(f"{prefix}-SAME: {names.capture(function[2])}")
        elif not line.strip():
            blocks[-1].lines.append(f"{prefix}-EMPTY:")
        elif line.strip() != "module {" or len(blocks) > 1:
            next_to = "-NEXT" if blocks[-1].lines else ""
            inner = " " * (indent - outer)
            blocks[-1].lines.append(f"{prefix}{next_to}: {inner}{names.capture(line)}")
    if folder:
        for block in blocks:
            block.lines = [line.replace(f"{folder}/", "{{.*}}") for line in block.lines]
    return [block for block in blocks if block.lines]


class _Names:
    """The FileCheck variables of the values in one function."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}
        self._taken: set[str] = set()

    def capture(self, line: str) -> str:
        """A line as a pattern, which defines and uses variables in place of names of values."""
        line = line.strip()
        pattern, end = "", 0
        for found in _VALUE.finditer(line):
            name, definition = found[1], found[2]
            pattern += _escaped(line[end : found.start()])
            end = found.end()
            if definition or name not in self._variables:
                is_result = found.start() == 0 and (definition or "").endswith("= ")
                rest = line[end + len(definition or "") :]
                self._variables[name] = variable = self._fresh(_base(name, rest, is_result))
                pattern += f"%[[{variable}:{'.*' if is_result else '[^ :]*'}]]"
            else:
                pattern += f"%[[{self._variables[name]}]]"
        pattern += _escaped(line[end:])
        return f"{pattern}{{{{$}}}}" if line == "}" else pattern

    def _fresh(self, base: str) -> str:
        number, name = 0, base
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def _base(name: str, rest: str, is_result: bool) -> str:
    """The name of a variable: that of the op with this result, or that of the value."""
    op = _OP.match(rest) if is_result else None
    word = re.sub(r"\W", "_", op[1].rpartition(".")[2] if op else name).upper()
    return f"V{word}" if word[0].isdigit() else word


def _escaped(text: str) -> str:
    """A text without the brackets that FileCheck would read as a variable or an expression."""
    text = re.sub(r"\{\{+", lambda found: "{{" + "[{]" * len(found[0]) + "}}", text)
    return re.sub(r"\[\[+", lambda found: "{{" + r"\[" * len(found[0]) + "}}", text)


# Files


def update(path: Path, load: Sequence[str] = (), run: str = "") -> str:
    """Write the CHECK lines of a case from the output of its RUN lines.

    Args:
        path: the case.
        load: arguments of `--load-pass`, for `run_lit`.
        run: the RUN line to write if the case has none.

    Returns:
        A sentence on what was done.

    Raises:
        UsageError: the case has no RUN line with filecheck, or CHECK lines written by hand.
        JxcError: a RUN line fails, or prints another text at each run.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    try:
        before = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: expected a text in UTF-8") from None
    if not run and "RUN:" not in before:
        raise UsageError(f"{path}: it has no RUN line; -p PIPELINE writes one")
    if run and "RUN:" not in before:
        path.write_text(f"{_comment(path, before)}RUN: {run}\n\n{before}", encoding="utf-8")
    try:
        count = _until_stable(path, load)
    except BaseException:  # also Ctrl-C
        path.write_text(before, encoding="utf-8")
        raise
    state = "unchanged" if path.read_text(encoding="utf-8") == before else "written"
    return f"{path}: {count} CHECK lines, {state}"


_MOST_ROUNDS = 3  # line numbers in the output move when lines are added above


def _until_stable(path: Path, load: Sequence[str]) -> int:
    for _ in range(_MOST_ROUNDS):
        text = path.read_text(encoding="utf-8")
        prefixes = _recorded(path, load)
        updated = _with_checks(path, text, prefixes)
        if updated == text:
            break
        path.write_text(updated, encoding="utf-8")
    done = run_lit([path], ["-v"], load=load, is_quiet=True)
    if done.returncode:
        raise JxcError(
            f"{path}: fails with the CHECK lines of its own output; does its output differ "
            f"from run to run?\n{done.stdout}{done.stderr}"
        )
    return sum(len(block.lines) for blocks in prefixes.values() for block in blocks)


def _recorded(path: Path, load: Sequence[str]) -> dict[str, list[CheckBlock]]:
    """The CHECK lines for each prefix, from the texts that reach filecheck."""
    with tempfile.TemporaryDirectory(prefix="jxc-record-") as folder:
        done = run_lit([path], ["-v"], load=load, record=Path(folder), is_quiet=True)
        found = [json.loads(each.read_text()) for each in sorted(Path(folder).iterdir())]
    if done.returncode:
        raise JxcError(f"{path}: a RUN line fails:\n{done.stdout}{done.stderr}")
    texts: dict[str, str] = {}
    for each in found:
        if Path(each["file"]) != path.resolve():
            continue
        if texts.setdefault(each["prefix"], each["text"]) != each["text"]:
            raise UsageError(
                f"{path}: two RUN lines with the prefix {each['prefix']} print different texts; "
                "give each a prefix: filecheck %s --check-prefix=NAME"
            )
    if not texts:
        raise UsageError(f"{path}: no RUN line ends with '| filecheck %s'")
    folder = str(path.resolve().parent)
    return {prefix: check_blocks(text, prefix, folder) for prefix, text in texts.items()}


def _with_checks(path: Path, text: str, prefixes: dict[str, list[CheckBlock]]) -> str:
    """The text of a case with these CHECK lines in place of its own."""
    comment = _comment(path, text)
    names = "|".join(map(re.escape, prefixes))
    directive = re.compile(rf"\s*(?://|#|;)?\s*(?:{names})(?:-[A-Z]+)*(?:-\d+)?(?:{{LITERAL}})?:")
    kept = [line for line in text.splitlines() if not directive.match(line)]
    note = f"{comment}{NOTE}"
    if note not in kept:
        if len(kept) < len(text.splitlines()):
            raise UsageError(
                f"{path}: its CHECK lines were written by hand; delete them, then run this again"
            )
        kept.insert(0, note)
    while kept and not kept[-1].strip():
        kept.pop()
    for blocks in prefixes.values():
        kept = _placed(kept, blocks, comment)
    return "\n".join(kept) + "\n"


def _placed(lines: list[str], blocks: Sequence[CheckBlock], comment: str) -> list[str]:
    """Lines with each block before its function, or all at the end if functions moved."""
    found = [(number, _FUNCTION.match(line)) for number, line in enumerate(lines)]
    functions = [(match[1], number) for number, match in found if match]
    at: dict[int, list[str]] = {}
    position = iter(functions)
    for block in [block for block in blocks if block.name]:
        number = next((number for name, number in position if name == block.name), None)
        if number is None:
            return [*lines, "", *(comment + line for block in blocks for line in block.lines)]
        at[number] = [*at.get(number, []), *block.lines]
    if not at:
        return [*lines, "", *(comment + line for block in blocks for line in block.lines)]
    first = min(at)
    at[first] = [line for block in blocks if not block.name for line in block.lines] + at[first]
    return list(_interleaved(lines, at, comment))


def _interleaved(lines: list[str], at: dict[int, list[str]], comment: str) -> Iterator[str]:
    for number, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        yield from (f"{indent}{comment}{each}" for each in at.get(number, ()))
        yield line


def _comment(path: Path, text: str) -> str:
    """What a directive begins with in this file, as its first RUN line does."""
    if found := re.search(r"^\s*(\W*?) *RUN:", text, re.MULTILINE):
        return f"{found[1]} " if found[1] else ""
    return {".mlir": "// ", ".py": "# "}.get(path.suffix, "")
