"""FileCheck on any stage of a function, inside an ordinary test."""

from __future__ import annotations

import inspect
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import JxcError, MissingTargetError, UsageError
from ..pipeline import PipelineLike
from .budgets import lowered_of, name_of

_DIRECTIVE = re.compile(r"\s*(?:(?://|#|;)\s*)?(CHECK)(-[A-Z]+(?:-\d+)?)?(?:\{LITERAL\})?:")
_COMMENT = re.compile(r"\s*(?:(?://|#|;)\s*)?(?:COM:|$)")
_SAID = re.compile(r"checks:(\d+):(?:\d+)? ?(?:error: )?(.*)")
_EXCLUDED = re.compile(r"^Matching at: .*\n(.*)$", re.MULTILINE)
_MEANT = re.compile(r"^Possible intended match at:\n.*\n(.*)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[\d+m")
_SHOWN = 6  # lines of the text from the place on where it went wrong


class CheckFailed(JxcError, AssertionError):
    """A text does not hold what a test expects of it."""


def check_text(
    fn: Any,
    /,
    *args: Any,
    checks: str,
    stage: str = "stablehlo",
    pipeline: PipelineLike | None = None,
    target: str | None = None,
    **kwargs: Any,
) -> None:
    """See that a stage of a function holds what FileCheck's directives say; it is not run.

        check_text(step, x, stage="hlo", checks='''
            CHECK: ENTRY
            CHECK: fusion
            CHECK-NOT: custom-call
        ''')

    Args:
        fn: a function, what `jax.jit` made of one, a `jxc.lower`ed one, or a text itself.
        args, kwargs: arrays or `jax.ShapeDtypeStruct`s, or pytrees of them.
        checks: directives, one a line: CHECK, CHECK-NEXT, CHECK-SAME, CHECK-NOT, CHECK-DAG,
            CHECK-LABEL, CHECK-EMPTY, CHECK-COUNT-n; `COM:` begins a comment. At least one must
            match something: a text that is not what one thinks holds nothing that is forbidden.
        stage: "jaxpr", "stablehlo", "hlo-before", "hlo", "llvm", "asm", "ptx", as `jxc compile
            --emit` has them.
        pipeline: passes to run first, such as "O2".
        target: what it is compiled for, which need not be here: "gpu:h100", "tpu:v5e:2x2".

    Raises:
        AssertionError: a directive fails; the message says which, at which line of the test, and
            shows the text where it was looked for.
        UsageError: a line is no directive, or none of them can match; no such stage.
        MissingTargetError: the package filecheck is not installed.
        JxcError: the function cannot be traced or compiled.
    """
    __tracebackhide__ = True  # pytest shows the test's own line
    lines = _Lines.of(checks, inspect.currentframe())
    _refuse(checks, lines)
    if isinstance(fn, str):
        text, name = fn, "the text"
    else:
        text, name = _text(fn, args, kwargs, stage, pipeline, target), f"{name_of(fn)}, {stage}"
    if failure := _file_check(text, checks):
        raise CheckFailed(_explained(failure, text, name, checks, lines))


def _text(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    stage: str,
    pipeline: PipelineLike | None,
    target: str | None,
) -> str:
    from ..backend.artifacts.stages import emit
    from ..backend.targets import find_target

    lowered = lowered_of(fn, args, kwargs, target)
    if pipeline is not None:
        lowered = lowered.opt(pipeline, target=target)
    if stage in ("jaxpr", "stablehlo"):
        return lowered.as_text(stage)
    if stage == "hlo":
        return lowered.compile(target).as_text()
    (artifact, *_) = emit(lowered, [stage], find_target(target or "cpu"))
    data = artifact.data
    if isinstance(data, bytes):
        raise UsageError(f"--stage {stage} is binary: expected a stage that is text")
    return data


@dataclass(frozen=True)
class _Failure:
    """What FileCheck has to say against a text.

    Attributes:
        said: its words.
        offset: how far it had come.
    """

    said: str
    offset: int


def _file_check(text: str, checks: str) -> _Failure | None:
    try:
        from filecheck.finput import FInput
        from filecheck.matcher import Matcher
        from filecheck.options import Options
        from filecheck.parser import Parser, pattern_for_opts
    except ImportError:
        raise MissingTargetError(
            "check_text needs the package filecheck: pip install filecheck"
        ) from None
    options = Options("checks", input_file="text", comment_prefixes=["COM"])
    parser = Parser(options, io.StringIO(checks), *pattern_for_opts(options))
    matcher = Matcher(options, FInput("text", text), parser)
    matcher.stderr = heard = io.StringIO()
    if matcher.run() == 0:
        return None
    return _Failure(_COLOUR.sub("", heard.getvalue()), min(matcher.file.range.start, len(text)))


# What no check can be


def _refuse(checks: str, lines: _Lines) -> None:
    """Refuse lines that FileCheck would pass over, and checks of which none must match."""
    kinds = []
    for number, line in enumerate(checks.splitlines(), 1):
        found = _DIRECTIVE.match(line)
        if found is None and not _COMMENT.match(line):
            raise UsageError(
                f"{lines.place(number)}: {line.strip()!r} is no directive, and checks nothing: "
                "expected CHECK:, CHECK-NEXT:, CHECK-NOT:, ... or a comment, COM:"
            )
        if found:
            kinds.append(found[2] or "")
            if found[2] and not _KNOWN.fullmatch(found[2]):
                raise UsageError(f"{lines.place(number)}: there is no CHECK{found[2]}")
    if not kinds:
        raise UsageError("checks: expected directives such as CHECK: stablehlo.add, found none")
    if all(kind in ("-NOT", "-EMPTY") for kind in kinds):
        raise UsageError(
            f"{lines.place(1)}: nothing has to match, so that an empty text would do: add what "
            "must be there, such as `CHECK: @main` before it"
        )


_KNOWN = re.compile(r"-(NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+)")


@dataclass(frozen=True)
class _Lines:
    """Where the lines of `checks` stand in the user's file.

    Attributes:
        file: that calls us.
        first: the line of it in which `checks` begins; 0 where it is not found there.
    """

    file: str
    first: int

    @classmethod
    def of(cls, checks: str, frame: Any) -> _Lines:
        """Look for the text of `checks` near the call."""
        while frame is not None and frame.f_globals.get("__name__", "").startswith("jxc."):
            frame = frame.f_back
        if frame is None:
            return cls("checks", 0)
        file = frame.f_code.co_filename
        try:
            source = Path(file).read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            return cls("checks", 0)
        starts = list(_occurrences(checks.splitlines(), source))
        first = min(starts, key=lambda line: abs(line - frame.f_lineno), default=0)
        return cls(os.path.relpath(file) if first else "checks", first)

    def place(self, number: int) -> str:
        """`file:line` of a line of the checks, counted from 1."""
        return f"{self.file}:{self.first + number - 1}" if self.first else f"checks:{number}"


def _occurrences(lines: Sequence[str], source: Sequence[str]) -> Iterator[int]:
    """The lines, from 1, from which on the source holds `lines`."""
    for index in range(len(source) - len(lines) + 1):
        if all(line.strip() in source[index + k] for k, line in enumerate(lines)):
            yield index + 1


# What went wrong


def _explained(failure: _Failure, text: str, name: str, checks: str, lines: _Lines) -> str:
    """What was expected, by the user's line, and what the text holds where it was looked for."""
    found = _SAID.search(failure.said)
    if found is None:
        return f"{name}: {failure.said.strip()}"
    number = int(found[1])
    expected = checks.splitlines()[number - 1].strip()
    parts = [f"{lines.place(number)}: {name}: {found[2]}", f"  expected: {expected}"]
    line = text.count("\n", 0, failure.offset) + 1
    if excluded := _EXCLUDED.search(failure.said):
        line = _line_of(excluded[1], text, 1)
        return "\n".join([*parts, f"  found at line {line} of the text:", *_excerpt(text, line)])
    parts += [f"  found, from line {line} of the text on, where it was looked for:"]
    parts += _excerpt(text, line)
    if meant := _MEANT.search(failure.said):
        line = _line_of(meant[1], text, line)
        parts += [f"  perhaps line {line} is what was meant:", *_excerpt(text, line, 1)]
    return "\n".join(parts)


def _line_of(words: str, text: str, start: int) -> int:
    every = text.splitlines()
    return next((k for k, line in enumerate(every, 1) if k >= start and line == words), start)


def _excerpt(text: str, line: int, count: int = _SHOWN) -> list[str]:
    shown = text.splitlines()[line - 1 : line - 1 + count]
    return [f"  {number:5} | {each[:200]}" for number, each in enumerate(shown, line)]
