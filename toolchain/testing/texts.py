"""`check_text`: FileCheck on any stage of a function, inside an ordinary test.

The text comes from lowering and compiling the function; the package filecheck matches it. Before
that, this module refuses checks that could not fail, and afterwards it turns FileCheck's report
into one that names the line of the test and quotes the text at the point of failure.
"""

from __future__ import annotations

import inspect
import io
import linecache
import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ..backend.artifacts.stages import emit
from ..backend.lowered import Lowered
from ..backend.targets import find_target
from ..distribution import pip_install
from ..errors import JxcError, MissingTargetError, UsageError
from ..pipeline import PipelineLike
from ..tools.explain.functions import name_of
from .budgets import lowered_for

_DIRECTIVE = re.compile(r"\s*(?:(?://|#|;)\s*)?(CHECK)(-[A-Z]+(?:-\d+)?)?(?:\{LITERAL\})?:")
_KNOWN_SUFFIX = re.compile(r"-(NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+)")
_COMMENT = re.compile(r"\s*(?:(?://|#|;)\s*)?(?:COM:|$)")
# FileCheck's report: the line of the checks, an excluded match, a possible match.
_REPORTED = re.compile(r"checks:(\d+):(?:\d+)? ?(?:error: )?(.*)")
_EXCLUDED = re.compile(r"^Matching at: .*\n(.*)$", re.MULTILINE)
_POSSIBLE = re.compile(r"^Possible intended match at:\n.*\n(.*)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[\d+m")
_EXCERPT_LINES = 6


class CheckFailed(JxcError, AssertionError):
    """A directive of `check_text` failed."""


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
    """Match the text of one stage of a function against FileCheck directives; `fn` is not run.

        check_text(step, x, stage="hlo", checks='''
            CHECK: ENTRY
            CHECK: fusion
            CHECK-NOT: custom-call
        ''')

    Args:
        fn: a function, a jitted function, the result of `jxc.lower`, or a text.
        args, kwargs: arrays or `jax.ShapeDtypeStruct`s, or pytrees of them.
        checks: one directive a line: CHECK, CHECK-NEXT, CHECK-SAME, CHECK-NOT, CHECK-DAG,
            CHECK-LABEL, CHECK-EMPTY, CHECK-COUNT-n; `COM:` begins a comment. At least one of them
            must require a match, since CHECK-NOT alone also passes on an empty text.
        stage: "jaxpr", "stablehlo", "hlo-before", "hlo", "llvm", "asm" or "ptx", as for
            `jxc compile --emit`.
        pipeline: passes to run before that stage, such as "O2".
        target: the target to compile for, such as "gpu:h100" or "tpu:v5e:2x2"; no such hardware
            is needed.

    Raises:
        AssertionError: a directive fails. The message names the line of the test and quotes the
            text at the point of failure.
        UsageError: a line is not a directive, no directive requires a match, or the stage is
            unknown.
        MissingTargetError: the package filecheck is not installed.
        JxcError: the function cannot be traced or compiled.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    if find_spec("filecheck") is None:
        raise MissingTargetError(
            "check_text needs the package filecheck, which is not installed: "
            + pip_install("testing")
        )
    lines = _CheckLines.find(checks, inspect.currentframe())
    _reject_vacuous_checks(checks, lines)
    if isinstance(fn, str):
        text, name = fn, "the text"
    else:
        lowered = lowered_for(fn, args, kwargs, target)
        if pipeline is not None:
            lowered = lowered.opt(pipeline, target=target)
        text, name = _text_of_stage(lowered, stage, target), f"{name_of(fn)}, {stage}"
    if mismatch := _run_filecheck(text, checks):
        raise CheckFailed(_message(*mismatch, text, name, checks, lines))


def _text_of_stage(lowered: Lowered, stage: str, target: str | None) -> str:
    if stage in ("jaxpr", "stablehlo"):
        return lowered.as_text(stage)
    if stage == "hlo":
        return lowered.compile(target).as_text()
    data = emit(lowered, [stage], find_target(target or "cpu"))[stage]
    if isinstance(data, bytes):
        raise UsageError(f"expected a stage that is text, found stage={stage!r}, which is binary")
    return data


def _run_filecheck(text: str, checks: str) -> tuple[str, int] | None:
    """FileCheck's report, and the offset in the text that it had reached; None if all match."""
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import Options
    from filecheck.parser import Parser, pattern_for_opts

    options = Options("checks", input_file="text", comment_prefixes=["COM"])
    parser = Parser(options, io.StringIO(checks), *pattern_for_opts(options))
    matcher = Matcher(options, FInput("text", text), parser)
    matcher.stderr = report = io.StringIO()
    if matcher.run() == 0:
        return None
    return _COLOUR.sub("", report.getvalue()), min(matcher.file.range.start, len(text))


def _reject_vacuous_checks(checks: str, lines: _CheckLines) -> None:
    """Refuse lines that FileCheck would ignore, and checks that an empty text would pass."""
    suffixes = []
    for number, line in enumerate(checks.splitlines(), 1):
        found = _DIRECTIVE.match(line)
        if found is None and not _COMMENT.match(line):
            raise UsageError(
                f"{lines.location(number)}: {line.strip()!r} is not a directive: "
                "expected CHECK:, CHECK-NEXT:, CHECK-NOT:, ... or a comment, COM:"
            )
        if found:
            suffixes.append(found[2] or "")
            if found[2] and not _KNOWN_SUFFIX.fullmatch(found[2]):
                raise UsageError(f"{lines.location(number)}: there is no CHECK{found[2]}")
    if not suffixes:
        raise UsageError("checks: expected directives such as CHECK: stablehlo.add, found none")
    if all(suffix in ("-NOT", "-EMPTY") for suffix in suffixes):
        raise UsageError(
            f"{lines.location(1)}: no directive requires a match, so an empty text would pass: "
            "add one that must match, such as `CHECK: @main`"
        )


@dataclass(frozen=True)
class _CheckLines:
    """Where the lines of `checks` are in the user's file.

    Attributes:
        file: the file that calls `check_text`; "checks" if they are not found there.
        first: the line of the file on which `checks` begins; 0 if it is not found.
    """

    file: str
    first: int

    @classmethod
    def find(cls, checks: str, frame: Any) -> _CheckLines:
        """Find the text of `checks` in the caller's file, the occurrence nearest to the call."""
        while frame is not None and frame.f_globals.get("__name__", "").startswith("jxc."):
            frame = frame.f_back
        file = frame.f_code.co_filename if frame else ""
        source, wanted = linecache.getlines(file), [line.strip() for line in checks.splitlines()]
        starts = [
            index + 1
            for index in range(len(source) - len(wanted) + 1)
            if all(line in source[index + k] for k, line in enumerate(wanted))
        ]
        first = min(starts, key=lambda line: abs(line - frame.f_lineno), default=0)
        return cls(os.path.relpath(file) if first else "checks", first)

    def location(self, number: int) -> str:
        """`file:line` of a line of the checks, counted from 1."""
        return f"{self.file}:{max(self.first, 1) + number - 1}"


def _message(
    report: str, offset: int, text: str, name: str, checks: str, lines: _CheckLines
) -> str:
    """The failed directive by its line in the test, and the text at the point of failure."""
    found = _REPORTED.search(report)
    if found is None:
        return f"{name}: {report.strip()}"
    number = int(found[1])
    expected = checks.splitlines()[number - 1].strip()
    parts = [f"{lines.location(number)}: {name}: {found[2]}", f"  expected: {expected}"]
    if excluded := _EXCLUDED.search(report):
        line = _line_number(excluded[1], text, 1)
        return "\n".join([*parts, f"  found at line {line} of the text:", *_excerpt(text, line)])
    line = text.count("\n", 0, offset) + 1
    parts += [f"  no match from line {line} of the text on:", *_excerpt(text, line)]
    if possible := _POSSIBLE.search(report):
        line = _line_number(possible[1], text, line)
        parts += [f"  the most similar line is {line}:", *_excerpt(text, line, 1)]
    return "\n".join(parts)


def _line_number(wanted: str, text: str, start: int) -> int:
    """The first line from `start` on that equals `wanted`; `start` if there is none."""
    lines = enumerate(text.splitlines(), 1)
    return next((k for k, line in lines if k >= start and line == wanted), start)


def _excerpt(text: str, line: int, count: int = _EXCERPT_LINES) -> list[str]:
    shown = text.splitlines()[line - 1 : line - 1 + count]
    return [f"  {number:5} | {each[:200]}" for number, each in enumerate(shown, line)]
