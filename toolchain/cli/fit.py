"""`jxc fit`: the cheapest plan with which a program fits into memory."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..display.progress import progress
from ..errors import UsageError
from ..files import require_file, write_json
from ..units import parse_bytes
from .compile.job import prepared
from .compile.options import CompileOptions, GroupedCommand
from .options import SECONDS, PassOptions, json_option, lowering_options, options_of


@click.command(cls=GroupedCommand, short_help="Fit a program into a budget of memory.")
@click.argument("source", default="-", metavar="[FILE|-|TARGET]")
@lowering_options
@click.option(
    "--max-memory",
    metavar="SIZE",
    help="The budget of one device, such as 14GiB; the device's memory by default.",
)
@click.option(
    "--seconds",
    type=SECONDS,
    default=300.0,
    show_default=True,
    metavar="S",
    help="Compile no further version after so many seconds.",
)
@click.option(
    "--exact", is_flag=True, help="Do not run the batch in parts, which sums in another order."
)
@click.option(
    "--measure",
    is_flag=True,
    help="Run the chosen version and the one without a plan here, and compare; target cpu only.",
)
@options_of(PassOptions)
@json_option
@click.option("-o", "output", metavar="FILE.toml", help="Write the plan to FILE.toml.")
def fit_command(
    source: str,
    seconds: float,
    exact: bool,
    max_memory: str | None,
    measure: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Find which values a program has to compute again, instead of keeping them, and in how many
    parts to run its batch, so that it fits into memory at the least time. Print what was tried,
    and write the plan.

    \b
    jxc fit model.py:step 'f32[8,784]' --target tpu:v5e --max-memory 14GiB -o plan.toml
    jxc compile model.py:step 'f32[8,784]' -p plan.toml

    The plan is a pipeline: `jxc.jit(step, pipeline="plan.toml")`, JXC_PIPELINE=plan.toml. Peaks and
    times are those of the target's compiler. -O2 runs after the plan unless other passes are named.
    Ctrl-C ends the search with the best plan found. The exit code is 1 if nothing fits.
    """
    from ..backend.targets import find_target, require

    output = flags.get("output")
    options = CompileOptions.read(source, {**flags, "output": output or "-"})
    target = find_target(options.target)
    budget = target.device.memory_bytes if max_memory is None else parse_bytes(max_memory)
    if output is not None:
        if not output.endswith(".toml"):
            raise UsageError(f"-o: expected a file that ends in .toml, found {output!r}")
        require_file(output)
    require(target)
    if measure:
        from ..tools.fit.measure import require_measurable

        require_measurable(target)
    with prepared("fit", options, [target], "O2", runs_here=measure) as job:
        from ..tools.fit.search import search

        with progress(f"lowering for {target.name}") as tell:
            spec = options.pipeline_text("O2")
            found = search(
                job.plain,
                target,
                budget,
                pipeline=spec,
                assume=job.assume,
                seconds=seconds,
                exact=exact,
                tell=tell,
            )
            if measure:
                from ..tools.fit.measure import with_measurements

                found = with_measurements(
                    found,
                    job.plain,
                    job.args,
                    job.kwargs,
                    pipeline=spec,
                    assume=job.assume,
                    tell=tell,
                )
        if found.plan and output:
            found.save(output)
        if as_json:
            write_json({"schema_version": 1, **found.as_json()}, "-")
        else:
            click.echo(str(found))
            if found.plan:
                click.echo(f"plan: {output}" if output else "write the plan with -o plan.toml")
    if not found.fits:
        sys.exit(1)
