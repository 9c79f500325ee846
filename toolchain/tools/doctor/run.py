"""Running the checks on a program, and their result as text.

A check is a `DoctorCheck` in a module of `checks/`; nothing else registers it. Those that read the
compiled program are skipped if the compiler may not run, or refuses the program.
"""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...backend.lowered import lower
from ...display.progress import progress
from ...errors import JxcError, UsageError, did_you_mean
from ...units import counted
from .finding import DoctorCheck, Finding
from .program import ExaminedProgram, program_of
from .source_code import is_silenced


class DoctorResult(list[Finding]):
    """The findings in a program, ordered by line. `print` shows them as `jxc doctor` does.

    Attributes:
        program: the name of the program, such as "jit_step".
        target: the name of the target.
        silenced: the findings that a comment in the source silences.
        ran: the names of the checks that ran.
        skipped: the names of those that did not, each with the reason.
    """

    def __init__(
        self,
        findings: Iterable[Finding],
        *,
        program: str,
        target: str,
        silenced: Sequence[Finding],
        ran: Sequence[str],
        skipped: dict[str, str],
    ) -> None:
        super().__init__(findings)
        self.program, self.target, self.ran, self.skipped = program, target, tuple(ran), skipped
        self.silenced = tuple(silenced)

    def __repr__(self) -> str:
        names = ": " + ", ".join(dict.fromkeys(each.name for each in self)) if self else ""
        return f"<jxc.doctor: {self.summary}{names}>"

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        from ...display.fragment import fragment

        return fragment("jxc.doctor", (self.program, self.summary), map(_finding_html, self))

    @property
    def summary(self) -> str:
        """One line: how many findings, by how many checks, and what was left out."""
        checks = counted(len(self.ran), "check")
        count = counted(len(self), "finding") if self else "nothing found"
        parts = [f"{count} for {self.target} by {checks}"]
        if self.silenced:
            parts.append(f"{len(self.silenced)} silenced")
        if self.skipped:
            reason = next(iter(self.skipped.values()))
            parts.append(f"{len(self.skipped)} checks left out ({reason})")
        return "; ".join(parts)

    def as_text(self, highlight: Callable[[str], str] = str) -> str:
        """Each finding with its line, cost and fix, then the summary.

        Args:
            highlight: applied to the names of findings.
        """
        return "\n".join([*(_finding_text(each, highlight) for each in self), self.summary])

    def as_json(self) -> dict[str, Any]:
        """The result as an object."""
        return {
            "target": self.target,
            "findings": [each.as_json() for each in self],
            "silenced": [each.as_json() for each in self.silenced],
            "ran": list(self.ran),
            "skipped": self.skipped,
        }


def _finding_text(finding: Finding, highlight: Callable[[str], str]) -> str:
    place = finding.place
    lines = [(f"{place}: " if place else "") + highlight(finding.name)]
    if place and place.text:
        lines.append(place.quote())
    lines.append(wrap(f"{finding.message}."))
    if str(finding.cost):
        lines.append(wrap(f"cost: {finding.cost}", hanging=6))
    if finding.measured:
        lines.append(wrap(f"measured: {finding.measured}", hanging=10))
    return "\n".join([*lines, wrap(f"fix: {finding.fix}", hanging=5), ""])


def _finding_html(finding: Finding) -> str:
    from ...display.fragment import escaped, note

    place = finding.place
    where = f" <span>{escaped(str(place))}</span>" if place else ""
    parts = [f'<p class="jxc-head"><b>{escaped(finding.name)}</b>{where}</p>']
    if place and place.text:
        parts.append(f"<pre>{escaped(place.text)}</pre>")
    parts.append(f"<p>{escaped(finding.message)}.</p>")
    if str(finding.cost):
        parts.append(note(f"cost: {finding.cost}"))
    return "".join([*parts, f'<p class="jxc-green">{escaped(finding.fix)}</p>'])


def wrap(text: str, hanging: int = 0) -> str:
    """Text indented by two, broken at the terminal's width or at 100 columns."""
    return textwrap.fill(
        text,
        min(shutil.get_terminal_size((80, 24)).columns, 100),
        initial_indent="  ",
        subsequent_indent="  " + " " * hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )


@cache
def all_checks() -> dict[str, DoctorCheck]:
    """Every check, by name in alphabetical order."""
    package = importlib.import_module(f"{__package__}.checks")
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = {c.name: c for m in modules for c in vars(m).values() if isinstance(c, DoctorCheck)}
    return dict(sorted(found.items()))


def choose_checks(only: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[DoctorCheck]:
    """The checks to run.

    Args:
        only: names of the checks to run; all if empty.
        ignore: names of checks to leave out.

    Raises:
        UsageError: no check has one of the names.
    """
    known = all_checks()
    for name in (*only, *ignore):
        if name not in known:
            raise UsageError(
                f"no finding is called {name!r}.{did_you_mean(name, list(known))} "
                "`jxc doctor --list` lists them."
            )
    return [c for name, c in known.items() if name not in ignore and (not only or name in only)]


def examine(program: ExaminedProgram, checks: Sequence[DoctorCheck]) -> DoctorResult:
    """Run checks on a program."""
    skipped = _skipped(program, checks)
    ran = [each for each in checks if each.name not in skipped]
    found = sorted(
        (finding for each in ran for finding in each.run(program)),
        key=lambda f: (f.place.file, f.place.line, f.name) if f.place else ("", 0, f.name),
    )
    silenced = [each for each in found if is_silenced(each.place, each.name)]
    return DoctorResult(
        (each for each in found if each not in silenced),
        program=program.lowered.name,
        target=program.target.name,
        silenced=silenced,
        ran=[each.name for each in ran],
        skipped=skipped,
    )


def _skipped(program: ExaminedProgram, checks: Sequence[DoctorCheck]) -> dict[str, str]:
    compiled = [each for each in checks if each.needs_compiler]
    names = [each.name for each in compiled]
    if not program.may_compile:
        return dict.fromkeys(names, "they read the compiled program")
    try:
        _ = program.compiled if names else None  # raises the compiler's error
    except JxcError as error:
        names = [c.name for c in compiled if not (c.reads_refusals and program.fit)]
        return dict.fromkeys(names, str(error).partition("\n")[0])
    return {}


@contextmanager
def quiet_about_donation() -> Iterator[None]:
    """Suppress JAX's warning about donations; `donation-unused` reports them with a line."""
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
) -> DoctorResult:
    """Find what makes a function slow, large, or slow to compile.

    The result is a list of findings, each with its line, its cost and the fix; `print` shows them
    as `jxc doctor` does. A comment `# jxc: ignore[NAME]` on the line silences a finding.

    Where rules of O2 apply, the function is compiled with and without them, which takes several
    times its own compile time; on this machine's CPU both are timed. A function with products or
    convolutions also runs there under the profiler. `compile=False` avoids that.

    Args:
        fn: a function, or what `jax.jit` made of it; then its donations are checked too.
        args: arrays, `jax.ShapeDtypeStruct`s, or pytrees of them. Timing uses the arrays, or
            random ones in place of types.
        target: the hardware, such as "cpu" or "tpu:v5e:2x2"; it need not be present.
        only: names of findings to look for; all if empty. `jxc doctor --list` explains them.
        ignore: names of findings to leave out.
        compile: whether the target's compiler runs; without it some checks are skipped.
        kwargs: passed to `fn`.

    Raises:
        UsageError: a finding or target is unknown.
        MissingTargetError: the target's compiler is not installed.
        JxcError: the function cannot be traced.
    """
    for name, given in (("only", only), ("ignore", ignore)):
        if isinstance(given, str):
            raise UsageError(f"{name}: expected a list of names, found the text {given!r}")
    checks = choose_checks(only, ignore)
    with quiet_about_donation(), progress("examining"):
        lowered = lower(fn, *args, **kwargs)
        program = program_of(lowered, target, may_compile=compile, given=(args, kwargs))
        return examine(program, checks)
