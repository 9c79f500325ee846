"""`jxc fit`: the cheapest plan, or the fastest shardings, with which a program fits into memory."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from ..display.progress import progress
from ..errors import UsageError
from ..files import require_file, write_json
from ..frontend.mesh import MOST_HOST_DEVICES
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
    help="Stop after so many seconds, once a plan fits.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Do not run the batch in parts or use kernels, which sum in another order.",
)
@click.option(
    "--batch", default="", metavar="NAMES", help="The arguments that have the batch, such as x,y."
)
@click.option(
    "--measure",
    is_flag=True,
    help="Measure the memory of the versions that fit, and time them in turn; target cpu only.",
)
@click.option(
    "--devices",
    type=click.IntRange(2, MOST_HOST_DEVICES),
    metavar="N",
    help="Split the program over N devices, and find how.",
)
@options_of(PassOptions)
@json_option
@click.option(
    "-o",
    "output",
    metavar="FILE",
    help="Write the plan to FILE.toml. FILE.rules: find shardings without a plan, and write them.",
)
def fit_command(
    source: str,
    seconds: float,
    exact: bool,
    batch: str,
    max_memory: str | None,
    measure: bool,
    devices: int | None,
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
    times are those of the target's compiler; for this machine's CPU, each version runs. -O2 runs
    after the plan unless other passes are named. Ctrl-C ends the search with the best plan found.
    The exit code is 1 if nothing fits.

    With --mesh without --sharding, with --devices, or for a TPU of several chips, find how to split
    the arguments and results over the devices, and which values each device has to compute again,
    so that a step is fastest and fits; print code for the shardings. The plan has both. A file
    FILE.rules has shardings alone, for the pass annotate-sharding.

    \b
    jxc fit model.py:step --target tpu:v5e:4x4 -o step.toml
    jxc report model.py:step --target tpu:v5e:4x4 -p step.toml
    """
    from ..backend.targets import find_target, require

    output = flags.get("output")
    options = CompileOptions.read(source, {**flags, "output": output or "-"})
    target = find_target(options.target)
    budget = target.device.memory_bytes if max_memory is None else parse_bytes(max_memory)
    if output is not None:
        if not output.endswith((".toml", ".rules")):
            raise UsageError(f"-o: expected a file that ends in .toml or .rules, found {output!r}")
        require_file(output)
    require(target)
    if measure:
        from ..tools.fit.measure import require_measurable

        require_measurable(target)
    with prepared("fit", options, [target], "O2", runs_here=measure) as job:
        from ..tools.fit.fit import fit_lowered, searches_shardings
        from ..tools.fit.meshes.result import MeshFit

        is_search = searches_shardings(job.plain, target, None, devices)
        only_shardings = bool(output and output.endswith(".rules"))
        if only_shardings and not is_search:
            raise UsageError(f"-o: expected a file that ends in .toml, found {output!r}")
        with progress(f"lowering for {target.name}") as tell:
            spec = options.pipeline_text("O2")
            found = fit_lowered(
                job.plain,
                target,
                budget,
                devices=devices,
                pipeline=spec,
                assume=job.assume,
                seconds=seconds,
                exact=exact,
                batch=batch,
                run_with=(job.args, job.kwargs),
                measure=measure,
                only_shardings=only_shardings,
                tell=tell,
            )
        if found.has_file and output:
            found.save(output)
            if isinstance(found, MeshFit):
                found = replace(found, file=output)
        if as_json:
            write_json({"schema_version": 1, **found.as_json()}, "-")
        else:
            click.echo(str(found))
            if found.has_file:
                noun = "shardings" if only_shardings else "plan"
                click.echo(f"{noun}: {output}" if output else "write the plan with -o plan.toml")
    if not found.fits:
        sys.exit(1)
