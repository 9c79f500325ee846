"""Reports on a program for one or several targets: printed side by side, or as one JSON object.

`jxc report` and `jxc compile --report` share it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ...compiled.program import Compiled, Refused
from ...display.progress import progress
from ...errors import JxcError
from ...files import write_json
from ...tools.report.budgets import Budgets, Measured, Violation, check
from ...tools.report.report import ROWS, Report, as_text, report
from .job import CompileJob
from .options import BUDGETS, CompileOptions

if TYPE_CHECKING:
    from ...backend.targets import Target


def print_report(job: CompileJob, targets: list[Target], options: CompileOptions) -> None:
    """Compile a program for each target and print the reports.

    Exits with 1 if it does not fit on a target or exceeds a budget, with 3 if a target's compiler
    is not installed.
    """
    from ...backend.targets import require

    budgets = read_budgets(options)
    reports, missing = [], []
    for target in targets:
        if target.missing:
            missing.append(target)
            continue
        with progress() as tell:
            try:
                pipeline, more = job.passes_for(target)
                found = report(
                    job.plain,
                    target=target,
                    pipeline=pipeline,
                    assume=job.assume,
                    with_plain=options.report or budgets.forbids_types,
                    xla_options=options.with_xla_options(more).xla_options(),
                    hlo_pass=options.hlo_pass,
                    progress=tell,
                )
            except JxcError as error:
                if len(targets) == 1:
                    raise
                found = Report(target, None, Refused(0, str(error), None), {}, job.plain.seconds)
            reports.append(found)
    findings = {each.target.name: _findings(each, budgets) for each in reports}
    if options.as_json:
        by_target: dict[str, Any] = {
            each.target.name: {
                **each.as_json(),
                "findings": [finding.as_json() for finding in findings[each.target.name]],
            }
            for each in reports
        }
        by_target |= {target.name: {"missing": target.missing} for target in missing}
        mesh = dict(job.plain.mesh)
        whole = {"schema_version": 2, "program": job.name, "mesh": mesh, "targets": by_target}
        write_json(whole, options.output)
    else:
        rows = None if options.all_rows else options.top or ROWS
        click.echo(as_text(reports, findings, whole=options.report, rows=rows))
    for target in missing:
        require(target)
    if any(findings.values()):
        sys.exit(1)


def read_budgets(options: CompileOptions) -> Budgets:
    """The budgets of a command line.

    Raises:
        UsageError: one of them cannot be parsed.
    """
    return Budgets.parse({name: getattr(options, name) for name in BUDGETS})


def _findings(found: Report, budgets: Budgets) -> list[Violation]:
    """Why a program is not accepted on a target: it does not fit, or exceeds a budget."""
    wrong = []
    if isinstance(found.optimised, Compiled):
        plain = found.plain if isinstance(found.plain, Compiled) else None
        wrong = check(budgets, Measured.of(found.optimised, plain, found.program))
    if found.fit is None and not isinstance(found.optimised, Compiled):
        wrong.append(Violation("compile", f"the compiler refused it: {found.optimised.message}"))
    elif found.fit is not None and found.fit.fits is False:
        wrong.append(Violation("memory", str(found.fit)))
    return wrong
