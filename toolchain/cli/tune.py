"""`jxc tune`: time candidate pipelines for a function, and list or delete what O3 found."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import click

from ..display.progress import progress
from ..errors import JxcError, UsageError
from ..files import write_json
from ..units import counted
from .compile.options import CompileOptions
from .options import SECONDS, InputOptions, json_option, lowering_options, options_of
from .process import in_child, stay_on_cpu


class _TuneGroup(click.Group):
    """The subcommands `ls` and `clear`; any other word is a function to tune."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            return _FUNCTION, self.commands[_FUNCTION], args
        return super().resolve_command(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("jxc tune", "TARGET [SPEC]... [OPTIONS]")
        formatter.write_usage("jxc tune", "ls | clear [OPTIONS]")


_FUNCTION = "function"


@click.group(cls=_TuneGroup, short_help="Find the fastest pipeline for a function.")
def tune_command() -> None:
    """Time candidate pipelines for the function TARGET with arguments like SPECs, as `jxc lower`
    takes them, and keep the fastest for O3.

    \b
    jxc tune model.py:step 'f32[8,784]'
    jxc tune model.py:step 'f32[8,784]' --target tpu:v5e --seconds 120
    jxc tune ls
    jxc tune clear jit_step

    The candidates are plain JAX, O1, O2, and O2 without some passes or rules. Hardware that is not
    here is ranked by its compiler's estimates, or by the roofline. `jxc.jit(fn, pipeline="O3")`,
    JXC_PIPELINE=O3 and `jxc compile -O3` use what was found for the same program, hardware and
    versions, and else find it at the first call. `jxc tune function --help` lists the options.
    """


@tune_command.command("ls", short_help="List what O3 found for each program.")
@json_option
def list_command(as_json: bool) -> None:
    """List what O3 found: program, hardware, candidate, how many times as fast it is as plain JAX
    and as O2, date and size. The last used comes first.
    """
    from ..backend.verdicts import all_verdicts
    from ..tools.tune.show import as_list

    found = list(all_verdicts())
    if as_json:
        rows = [{"key": key, "bytes": size, **vars(verdict)} for key, verdict, size in found]
        write_json({"schema_version": 1, "verdicts": rows}, "-")
        return
    click.echo(as_list(found))


@tune_command.command("clear", short_help="Delete what O3 found.")
@click.argument("name", required=False)
def clear_command(name: str | None) -> None:
    """Delete what O3 found: of all programs, or of the program NAME as `jxc tune ls` prints it."""
    from ..backend.verdicts import find_verdict_name, verdict_store

    store, removed = verdict_store(), 0
    for entry in store.entries():
        if name is None or find_verdict_name(entry.key) == name:
            removed += store.remove(entry.key)
    if name and not removed:
        raise UsageError(f"no verdict for a program {name!r}; `jxc tune ls` lists them")
    click.echo(f"{counted(removed, 'verdict')} deleted", err=True)


@tune_command.command(_FUNCTION, short_help="Tune a function; the word can be left out.")
@click.argument("source", metavar="TARGET")
@lowering_options
@click.option(
    "--target",
    default="cpu",
    show_default=True,
    metavar="NAME",
    help="The hardware: cpu, gpu:h100, tpu:v5e:2x2; see `jxc targets`.",
)
@click.option(
    "--seconds",
    type=SECONDS,
    metavar="S",
    help="The time budget; by default ten times O2's compile time, at least 5 and at most 60.",
)
@click.option(
    "--assume", multiple=True, metavar="PROMISE", help="As for `jxc compile`: no-nans, ..."
)
@options_of(InputOptions)
@json_option
def function_command(source: str, seconds: float | None, as_json: bool, **flags: Any) -> None:
    """Time the candidates for the function TARGET, print a table, and keep the verdict for O3.

    A verdict is found by the program, so TARGET and SPECs must give the program that is run later:
    the same jit options, shapes and element types.
    """
    from ..backend.targets import find_target
    from .compile.job import prepare

    options = CompileOptions.read(source, flags)
    target = find_target(options.target)
    os.environ.pop("JXC_PIPELINE", None)
    if not (target.is_present and target.kind != "cpu"):
        stay_on_cpu()
    stage = in_child(None, lambda _: [])
    stage.enter(f"while lowering {source}")
    job = prepare(None, "O2", options, None if target.is_present else target.platform)
    stage.enter(f"while tuning {source}")
    from ..backend.tuning import NotTuned, TuneSettings
    from ..tools.tune.show import as_table

    with contextlib.ExitStack() as stack:
        if job.x64:
            import jax

            stack.enter_context(jax.enable_x64(True))
        settings = TuneSettings(seconds, again=True, tell=stack.enter_context(progress()))
        try:
            if target.is_present:
                from ..check.fill import fill
                from ..tools.tune.explicit import tune_here

                args, kwargs = fill((job.args, job.kwargs), options.inputs)
                verdict = tune_here(job.plain, args, kwargs, job.assume, settings)
            else:
                from ..tools.tune.estimated import rank

                verdict = rank(job.plain, target, job.assume, settings)
        except NotTuned as error:
            raise JxcError(f"{source} was not tuned: {error}") from None
    if as_json:
        write_json({"schema_version": 1, **vars(verdict)}, "-")
    else:
        click.echo(as_table(verdict))
    if not verdict.stored:
        from ..backend.verdicts import verdict_store

        raise JxcError(
            f"the verdict was not kept: cannot write to {verdict_store().directory}. "
            "JXC_CACHE_DIR names another folder."
        )
