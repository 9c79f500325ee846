"""`jxc report`: what a target's compiler makes of a program."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from ..display.progress import progress
from ..errors import JxcError, UsageError
from ..files import require_file, write_json
from ..units import parse_bytes
from .compile.job import CompileJob, prepared
from .compile.options import BudgetOptions, CompileOptions, GroupedCommand, XlaOptions
from .options import ROWS, PassOptions, fit_command, lowering_options, options_of

if TYPE_CHECKING:
    from ..backend.targets import Target
    from ..tools.report.budgets import Budgets, Violation
    from ..tools.report.report import Report


@dataclass(frozen=True)
class ReportOptions(BudgetOptions, CompileOptions):
    """What a command line asks for, under the names of its flags."""

    top: int | None = None

    def budgets(self) -> Budgets:
        """The budgets that are given.

        Raises:
            UsageError: one of them cannot be parsed.
        """
        from ..tools.report.budgets import Budgets

        return Budgets.parse(
            {each.name: getattr(self, each.name) for each in fields(BudgetOptions)}
        )


@click.command(cls=GroupedCommand, short_help="Report memory, kernels and collectives.")
@click.argument("source", default="-", metavar="[FILE|-|TARGET]")
@lowering_options
@options_of(PassOptions, XlaOptions, BudgetOptions)
@click.option(
    "--top",
    type=ROWS,
    default=8,
    show_default=True,
    metavar="N|all",
    help="Print N rows of each section.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all kernels.")
@click.option("-o", "output", default="-", metavar="FILE", help="Write the JSON object to FILE.")
def report_command(source: str, **flags: Any) -> None:
    """Compile a module or a function for each --target, and report whether it fits into memory,
    its kernels and their times, collectives, and compile seconds: without jxc's passes, and with
    those of -O2 unless others are named.

    \b
    jxc report model.py:step 'f32[8,784]' --target tpu:v5e:2x2,gpu:h100,cpu
    jxc report step.mlir --max-memory 12GiB --forbid f64,all-gather

    FILE, TARGET and SPECs are those of `jxc lower`. The hardware need not be present: `jxc targets`
    lists it. The exit code is 1 if the program does not fit into memory or exceeds a budget; 3 if a
    target's compiler is not installed.
    """
    from ..backend.targets import find_targets, require

    options = ReportOptions.read(source, flags)
    targets, budgets = find_targets(options.target), options.budgets()
    if options.output != "-" and not options.as_json:
        raise UsageError("-o is for the JSON object: give --json, or redirect stdout")
    require_file(options.output)
    present = [target for target in targets if not target.missing]
    if not present:
        require(targets[0])
    with prepared("report", options, targets, "O2", runs_here=False) as job:
        reports = [_report(job, target, options, alone=len(targets) == 1) for target in present]
        findings = {each.target.name: _findings(each, budgets) for each in reports}
        if options.as_json:
            _write(job, targets, reports, findings, options.output)
        else:
            from ..tools.report.report import as_text

            click.echo(as_text(reports, findings, options.top))
            for target in present:
                if any(each.kind == "memory" for each in findings[target.name]):
                    click.echo(_remedy(target, options))
    for target in targets:
        require(target)
    if any(findings.values()):
        sys.exit(1)


def _report(job: CompileJob, target: Target, options: ReportOptions, *, alone: bool) -> Report:
    """The report on one target; says there that it cannot be compiled, unless it stands alone."""
    from ..compiled.program import Refused
    from ..tools.report.report import Report, report

    with progress() as tell:
        try:
            pipeline, more = job.passes_for(target)
            return report(
                job.plain,
                target=target,
                pipeline=pipeline,
                assume=job.assume,
                xla_options=options.with_xla_options(more).xla_options(),
                progress=tell,
            )
        except JxcError as error:
            if alone:
                raise
            return Report(target, None, Refused(0, str(error), None), {}, job.plain.seconds)


def _remedy(target: Target, options: ReportOptions) -> str:
    """How to make the program fit; a line of its own, so that it can be copied."""
    whole, given = target.device.memory_bytes, options.max_memory
    budget: str | int = whole
    if given is not None and not 0 < whole < parse_bytes(given):
        budget = given
    line = fit_command(options.request, target.name, budget, options)
    return f"to fit it, compute values again:\n{line}"


def _write(
    job: CompileJob,
    targets: list[Target],
    reports: list[Report],
    findings: dict[str, list[Violation]],
    output: str,
) -> None:
    by_target: dict[str, Any] = {
        each.target.name: {
            **each.as_json(),
            "findings": [finding.as_json() for finding in findings[each.target.name]],
        }
        for each in reports
    }
    by_target |= {each.name: {"missing": each.missing} for each in targets if each.missing}
    mesh = dict(job.plain.mesh)
    whole = {"schema_version": 2, "program": job.name, "mesh": mesh, "targets": by_target}
    write_json(whole, output)


def _findings(found: Report, budgets: Budgets) -> list[Violation]:
    """Why a program is not accepted on a target: it does not fit, or exceeds a budget."""
    from ..compiled.program import Compiled
    from ..tools.report.budgets import Measured, Violation, check

    wrong = []
    if isinstance(found.optimised, Compiled):
        plain = found.plain if isinstance(found.plain, Compiled) else None
        wrong = check(budgets, Measured.of(found.optimised, plain, found.program))
    if found.fit is None and not isinstance(found.optimised, Compiled):
        wrong.append(Violation("compile", f"the compiler refused it: {found.optimised.message}"))
    elif found.fit is not None and found.fit.fits is False:
        wrong.append(Violation("memory", str(found.fit)))
    return wrong
