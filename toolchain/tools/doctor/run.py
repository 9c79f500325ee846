"""Running the checks on a program."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...backend.lowered import lower
from ...errors import JxcError, UsageError
from .finding import Finding
from .program import Program, program_of
from .registry import Check, choose_checks
from .silence import is_silenced


@dataclass(frozen=True)
class Examination:
    """What the checks said of a program.

    Attributes:
        target: the name of what it was looked at for.
        findings: what was found, by line.
        silenced: what was found and taken back by a comment.
        ran: the names of the checks that ran.
        skipped: the names of those that did not, and why.
    """

    target: str
    findings: tuple[Finding, ...]
    silenced: tuple[Finding, ...]
    ran: tuple[str, ...]
    skipped: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """All of it, as an object."""
        return {
            "target": self.target,
            "findings": [each.as_json() for each in self.findings],
            "silenced": [each.as_json() for each in self.silenced],
            "ran": list(self.ran),
            "skipped": dict(self.skipped),
        }


def examine(program: Program, checks: Sequence[Check]) -> Examination:
    """Run checks on a program.

    Those that need a compiler are skipped where it may not be asked, or refuses the program.
    """
    skipped = _skipped(program, checks)
    ran = [each for each in checks if each.name not in skipped]
    found = sorted((f for each in ran for f in each.run(program)), key=_by_line)
    silenced = tuple(each for each in found if is_silenced(each))
    findings = tuple(each for each in found if each not in silenced)
    return Examination(
        program.target.name, findings, silenced, tuple(each.name for each in ran), skipped
    )


def _skipped(program: Program, checks: Sequence[Check]) -> dict[str, str]:
    names = [each.name for each in checks if each.needs_compiler]
    if not names:
        return {}
    if not program.may_compile:
        return dict.fromkeys(names, "it needs what the compiler makes of the program")
    try:
        program.compiled  # noqa: B018 - what it costs, it costs here
    except JxcError as error:
        return dict.fromkeys(names, str(error).partition("\n")[0])
    return {}


def _by_line(finding: Finding) -> tuple[str, int, str]:
    place = finding.place
    return (place.file, place.line, finding.name) if place else ("", 0, finding.name)


@contextmanager
def quiet_about_donation() -> Iterator[None]:
    """Without JAX's own warning of what the finding donation-unused tells with its place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        yield


def doctor(
    fn: Callable[..., Any],
    /,
    *args: Any,
    target: str = "cpu",
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    compile: bool = True,
    **kwargs: Any,
) -> list[Finding]:
    """What makes a function slow, large or slow to compile: each with its line and the fix.

    Args:
        fn: the function, or what `jax.jit` made of it: its donations are looked at.
        args: arrays, `jax.ShapeDtypeStruct`s, or pytrees of them. What is timed runs on the arrays,
            on random ones where there are only types.
        target: what for, such as "cpu" or "tpu:v5e:2x2"; the hardware need not be there.
        only: names of findings to look for; all where there are none.
        ignore: names of findings to leave out.
        compile: whether to ask the target's compiler; without it some are not looked for.
        kwargs: passed to `fn`.

    Raises:
        UsageError: there is no finding or target of a name.
        MissingTargetError: the target's compiler is not installed.
        JxcError: the function cannot be traced.
    """
    for name, given in (("only", only), ("ignore", ignore)):
        if isinstance(given, str):
            raise UsageError(f"{name}: expected a list of names, found the text {given!r}")
    checks = choose_checks(only, ignore)
    with quiet_about_donation():
        lowered = lower(fn, *args, **kwargs)
        program = program_of(lowered, target, may_compile=compile, given=(args, kwargs))
    return list(examine(program, checks).findings)
