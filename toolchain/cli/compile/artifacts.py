"""Files that `jxc compile` writes: stages, the module after each XLA pass, an executable to run.

`check_artifacts` refuses what cannot be written before jax is imported; `write_artifacts` compiles
for each target and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...backend.artifacts.stages import STAGES, UNCOMPILED, stages_of
from ...errors import UsageError
from ...files import require_file, require_folder, write_json, write_output
from .job import CompileJob
from .options import CompileOptions

if TYPE_CHECKING:
    from ...backend.lowered import Lowered
    from ...backend.targets import Target

_METRICS = ("cost", "memory")  # stages that are JSON already
_RUNNING = ("run", "bench", "diff_plain")


def check_artifacts(options: CompileOptions, targets: list[Target]) -> None:
    """Refuse options that cannot be carried out, before jax is imported.

    Raises:
        UsageError: a target lacks a stage, or options exclude each other.
    """
    stages = _stages(options)
    for target in targets:
        stages_of(stages, target)
    if options.compile_from and (specs := options.request.specs):
        raise UsageError(
            f"--compile-from reads a file, whose arguments are fixed; found {specs[0]!r}"
        )
    _check_reach(options, stages, targets)
    _check_output(options, stages, targets)
    runs = [f"--{name.replace('_', '-')}" for name in _RUNNING if options.is_given(name)]
    if not options.writes_artifacts:
        _check_here(options, targets, runs)
        return
    if options.emit and runs:
        raise UsageError(
            "--emit prints a stage; --run, --bench, --diff-plain run: give one of them"
        )
    if runs:
        raise UsageError(
            f"{runs[0]} cannot be combined with --emit, --save, --compile-to or --dump-hlo-passes"
        )
    if options.save and len(targets) > 1:
        raise UsageError("--save writes one file, for one --target")
    if options.as_json and options.output == "-" and not set(stages) <= set(_METRICS):
        raise UsageError(
            f"--emit {','.join(stages)} prints a text, not JSON: leave out --json, or write "
            "the stage to a file with -o"
        )
    if len(stages) * len(targets) > 1 and options.output == "-":
        raise UsageError(f"--emit {','.join(stages)} writes several files: name a folder, -o DIR")


def _check_output(options: CompileOptions, stages: list[str], targets: list[Target]) -> None:
    """Refuse an output that cannot be written, or an -o without anything to write."""
    output, runs = options.output, not options.writes_artifacts
    if output != "-" and not stages and not (runs and options.as_json):
        offer = ": give --json, or redirect stdout" if runs else ""
        raise UsageError(f"-o is the output of --emit, which is not given{offer}")
    if stages and (len(stages) * len(targets) > 1 or _is_folder(output)):
        require_folder(output)
    else:
        require_file(output)
    if options.save:
        require_file(options.save)
    for target in targets if options.dump_hlo_passes else ():
        place = Path(options.dump_hlo_passes or "", _folder_of(target, targets))
        require_folder(str(place))
        if (place / "0000-before.txt").exists():
            raise UsageError(f"{place} holds the passes of an earlier run: name another folder")


def _check_reach(options: CompileOptions, stages: list[str], targets: list[Target]) -> None:
    """Refuse options that would have no effect."""
    if options.compile_from == "hlo" and not is_here(targets):
        raise UsageError("--compile-from hlo compiles for this machine's cpu")
    ahead = [name for name in ("hlo_pass", "dump_hlo_passes") if options.is_given(name)]
    if options.compile_from == "hlo" and ahead:
        raise UsageError(f"--{ahead[0].replace('_', '-')}: XLA's passes have run on optimized HLO")
    if not options.hlo_pass:
        return
    is_compiled = options.save or options.dump_hlo_passes or not stages
    if not is_compiled and set(stages) <= set(UNCOMPILED):
        raise UsageError(f"--hlo-pass runs after --emit {','.join(stages)}: leave it out")


def is_here(targets: list[Target]) -> bool:
    """Whether a program is compiled for this machine's CPU alone, where it can run."""
    return [target.name for target in targets] == ["cpu"]


def _check_here(options: CompileOptions, targets: list[Target], runs: list[str]) -> None:
    """Refuse to run a program for other hardware."""
    if is_here(targets):
        return
    if runs:
        raise UsageError(f"{runs[0]} runs the program on this machine's cpu: leave out --target")
    raise UsageError(
        f"--target {options.target}: expected --emit, --save, --compile-to or --dump-hlo-passes, "
        "since the program runs on this machine's cpu only; `jxc report` shows its memory and time"
    )


def _stages(options: CompileOptions) -> list[str]:
    if options.emit and options.compile_to:
        raise UsageError("--compile-to and --emit both write stages: give one of them")
    if options.emit is not None and not options.emit.strip(", "):
        raise UsageError(f"--emit: expected stages, such as {', '.join(STAGES)}; found none")
    named = options.compile_to or options.emit or ""
    words = list(dict.fromkeys(word.strip() for word in named.split(",")))
    return words if named else []


def write_artifacts(job: CompileJob, targets: list[Target], options: CompileOptions) -> None:
    """Compile a program for each target and write the requested files.

    Raises:
        JxcError: it cannot be compiled, or lacks a stage.
    """
    from ...backend.targets import require

    stages = _stages(options)
    written: dict[str, dict[str, Any]] = {}
    for target in targets:
        if options.save or options.dump_hlo_passes or not set(stages) <= set(UNCOMPILED):
            require(target)
        plain: Lowered = job.plain
        if plain.platform != target.platform:
            plain = plain.for_target(target.name)
        pipeline, found = job.passes_for(target)
        lowered = plain.opt(pipeline, target=target.name, assume=job.assume)
        folder = _folder_of(target, targets)
        settings = options.with_xla_options(found)
        written[target.name] = _write(lowered, target, stages, settings, folder)
    if options.as_json and not (stages and options.output == "-"):
        write_json({"schema_version": 1, "program": job.name, "targets": written}, "-")


def _folder_of(target: Target, targets: list[Target]) -> str:
    """The folder of a target in the one that the user names; empty for a single target."""
    return target.name.replace(":", "-").replace("/", "-") if len(targets) > 1 else ""


def _write(
    lowered: Lowered, target: Target, stages: list[str], options: CompileOptions, folder: str
) -> dict[str, Any]:
    """Write the files of one target; returns what was written, for JSON."""
    from ...backend.artifacts.hlo_pass import compile_with
    from ...backend.artifacts.saving import save

    summary: dict[str, Any] = {}
    if stages:
        had = stages_of(stages, target)
        summary["files"] = _emit(lowered, target, had, options, folder)
        if lacking := [stage for stage in stages if stage not in had]:
            summary["lacking"] = lacking
            click.echo(f"jxc: {target.name} has no {', '.join(lacking)}", err=True)
    if options.dump_hlo_passes:
        place = Path(options.dump_hlo_passes, folder)
        summary["xla_passes"] = _dump_passes(lowered, target, options, place)
    if options.save:
        made = compile_with(
            lowered, target, xla_options=options.xla_options(), hlo_pass=options.hlo_pass
        )
        header = save(made, options.save)
        versions = dict(header.versions)
        summary["saved"] = {"file": options.save, "target": header.target, "versions": versions}
    return summary


def _emit(
    lowered: Lowered, target: Target, stages: list[str], options: CompileOptions, folder: str
) -> list[str]:
    """Write stages; returns the files."""
    from ...backend.artifacts.stages import emit

    made = emit(
        lowered,
        stages,
        target,
        xla_options=options.xla_options(),
        hlo_pass=options.hlo_pass,
        whole_constants=bool(options.compile_to),
    )
    alone = len(made) == 1 and "," not in (options.emit or "") and not folder
    if alone and not _is_folder(options.output):
        write_output(next(iter(made.values())), options.output)
        return [options.output]
    files = {STAGES[stage]: data for stage, data in made.items()}
    return _write_files(Path(options.output, folder), files)


def _is_folder(output: str) -> bool:
    return output != "-" and (output.endswith("/") or Path(output).is_dir())


def _write_files(place: Path, files: Mapping[str, str | bytes]) -> list[str]:
    """Write files into a folder, which is created; returns their paths."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place}: cannot create this folder: {error.strerror}") from None
    for name, data in files.items():
        write_output(data, str(place / name))
    return [str(place / name) for name in files]


def _dump_passes(
    lowered: Lowered, target: Target, options: CompileOptions, place: Path
) -> dict[str, Any]:
    """Write the module after each XLA pass, and print how many ran; returns the same for JSON."""
    from ...backend.artifacts.xla_passes import trace_passes

    found = trace_passes(
        lowered.module, target, xla_options=options.xla_options(), hlo_pass=options.hlo_pass
    )
    files = found.files()
    _write_files(place, files)
    if not options.as_json:
        to_stderr = bool(_stages(options)) and options.output == "-"
        click.echo("\n".join(_pass_lines(target.name, found, place)), err=to_stderr)
    changes = [
        {"file": file, "pass": change.name, "pipeline": change.pipeline}
        for file, change in zip(list(files)[1:], found.changes, strict=True)
    ]
    return {
        "ran": found.runs,
        "changed": len(changes),
        "seconds": found.seconds,
        "changes": changes,
    }


def _pass_lines(name: str, found: Any, place: Path) -> list[str]:
    changed, seconds = len(found.changes), found.seconds
    if not seconds:
        ran = f"{changed} of XLA's passes changed the module"
        return [f"{name}: {ran}; this compiler does not report their times: {place}"]
    total = sum(seconds.values())
    lines = [
        f"{name}: {found.runs} of XLA's passes ran, {changed} changed the module: {place}",
        f"{'':4}{total * 1e3:.1f} of XLA's {found.build.seconds * 1e3:.0f} ms; the longest:",
    ]
    longest = list(seconds.items())[:8]
    return [*lines, *(f"{'':4}{took * 1e3:8.2f} ms  {each}" for each, took in longest)]
