"""Compiling for any targets, and the verdict: printed side by side, or as one object."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ...errors import JxcError
from ...files import write_json
from ...tools.report.budgets import Budgets, Measured, Violation, check
from ...tools.report.report import Compiled, Refused, Report, report
from .host import xla_options
from .job import Job


def judge(job: Job, targets: list[Any], flags: dict[str, Any]) -> None:
    """Compile a job for each target; print what came of it.

    The exit code is 1 where it does not fit on one or exceeds a budget, 3 where a target's compiler
    is not installed.
    """
    budgets = read_budgets(flags)
    reports, missing = [], []
    for target in targets:
        if target.missing:
            missing.append(target)
            continue
        with _progress(flags) as tell:
            reports.append(_report_or_why_not(job, target, budgets, flags, tell, len(targets) > 1))
    findings = {each.target.name: _findings(each, budgets) for each in reports}
    if flags["as_json"]:
        _write_json(job, reports, findings, missing, flags["output"])
    else:
        from ...tools.report.table import as_text

        click.echo(as_text(reports, findings, whole=flags["report"]))
    _raise_missing(missing)
    if any(findings.values()):
        sys.exit(1)


def _report_or_why_not(
    job: Job, target: Any, budgets: Budgets, flags: dict[str, Any], tell: Any, has_others: bool
) -> Report:
    """A report; where there are other targets, of a refusal too: they may do."""
    try:
        return _report(job, target, budgets, flags, tell)
    except JxcError as error:
        if not has_others:
            raise
        return Report(target, None, Refused(0, str(error), None), {}, job.plain.seconds)


def _report(job: Job, target: Any, budgets: Budgets, flags: dict[str, Any], tell: Any) -> Report:
    return report(
        job.plain,
        target=target,
        pipeline=job.pipeline,
        assume=job.assume,
        with_plain=flags["report"] or budgets.forbids_types,
        xla_options=xla_options(flags["xla_option"]),
        hlo_pass=flags["hlo_pass"],
        progress=tell,
    )


def read_budgets(flags: dict[str, Any]) -> Budgets:
    """What the flags say a program may take.

    Raises:
        UsageError: one of them cannot be understood.
    """
    names = ("max_memory", "max_flops", "max_compile_seconds", "forbid")
    return Budgets.parse({name: flags[name] for name in names})


def _findings(found: Report, budgets: Budgets) -> list[Violation]:
    """What is wrong with a program on a target: it does not fit, or exceeds a budget."""
    wrong = []
    if isinstance(found.optimised, Compiled):
        plain = found.plain if isinstance(found.plain, Compiled) else None
        wrong = check(budgets, Measured.of(found.optimised, plain, found.program))
    if found.fit is None and not isinstance(found.optimised, Compiled):
        wrong.append(Violation("compile", f"it is not compiled: {found.optimised.message}"))
    elif found.fit is not None and found.fit.fits is False:
        wrong.append(Violation("memory", str(found.fit)))
    return wrong


def _raise_missing(missing: list[Any]) -> None:
    from ...backend.targets import require

    for target in missing:
        require(target)


def _write_json(
    job: Job,
    reports: list[Report],
    findings: dict[str, list[Violation]],
    missing: list[Any],
    output: str,
) -> None:
    told = {
        each.target.name: {
            **each.as_json(),
            "findings": [finding.as_json() for finding in findings[each.target.name]],
        }
        for each in reports
    }
    told |= {target.name: {"missing": target.missing} for target in missing}
    whole = {
        "schema_version": 1,
        "program": job.name,
        "mesh": dict(job.plain.mesh),
        "targets": told,
    }
    write_json(whole, output)


@contextmanager
def _progress(flags: dict[str, Any]) -> Iterator[Any]:
    """Says on a terminal what is being done; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting")
        yield lambda doing: shown.reset(task, description=doing)
