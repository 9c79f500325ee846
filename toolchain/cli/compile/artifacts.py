"""What `jxc compile` writes: stages, XLA's passes one by one, an executable for `jxc run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...backend.artifacts.stages import STAGES, UNCOMPILED, stages_of
from ...errors import UsageError
from ...files import require_file, require_folder, write_json, write_output
from .job import Job

_RESUMED = ("stablehlo", "hlo-before", "hlo")
_FIGURES = ("cost", "memory")  # JSON whatever is asked for


def artifact_options(command: Any) -> Any:
    """What to write, where it stops, and where it begins."""
    options = [
        click.option(
            "--emit",
            metavar="STAGE[,STAGE]...",
            help=f"Write stages of the program: {', '.join(STAGES)}; what the target has of them. "
            "Several go into a folder, -o DIR.",
        ),
        click.option(
            "-o",
            "output",
            default="-",
            metavar="FILE|DIR",
            help="Where to; stdout by default.",
        ),
        click.option(
            "--dump-hlo-passes",
            metavar="DIR",
            help="Write the module after each of XLA's passes that changed it, and print how many "
            "ran and how long they took.",
        ),
        click.option("--save", metavar="FILE", help="Write an executable for `jxc run`."),
        click.option(
            "--compile-to",
            type=click.Choice(("jaxpr", *_RESUMED)),
            help="Stop at a stage and write it whole, so that it can be edited and compiled on.",
        ),
        click.option(
            "--compile-from",
            type=click.Choice(_RESUMED),
            help="SOURCE is a file of --compile-to: compile on from there. None of our passes run "
            "unless they are named; optimised HLO (hlo) is made code of as it stands, on cpu.",
        ),
        click.option(
            "--hlo-pass",
            metavar="FILE.py:FN",
            help="Run FN(hlo_text, context), which returns HLO or None, on this compilation alone. "
            "FN.stage is before (XLA's passes; the default), pre-scheduler or post-scheduler.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def writes_artifacts(flags: dict[str, Any]) -> bool:
    """Whether something is to be written, and so nothing run or judged."""
    return any(flags[name] for name in ("emit", "dump_hlo_passes", "save", "compile_to"))


def check_artifacts(flags: dict[str, Any], targets: list[Any]) -> None:
    """Refuse what cannot be done, before jax is imported.

    Raises:
        UsageError: a stage that a target has not, or options that exclude each other.
    """
    stages = _stages(flags)
    for target in targets:
        stages_of(stages, target)
    if flags["compile_from"] and flags["specs"]:
        raise UsageError(
            f"--compile-from reads a file, whose arguments are settled; found {flags['specs'][0]!r}"
        )
    _check_reach(flags, stages, targets)
    _check_output(flags, stages, targets)
    if not writes_artifacts(flags):
        return
    others = [name for name in _ELSEWHERE if _is_given(flags, name)]
    if flags["emit"] and others and others[0] not in _JUDGING:
        raise UsageError(
            "--emit prints a stage; --run, --bench, --diff-plain run: give one of them"
        )
    if others:
        raise UsageError(
            f"--{others[0].replace('_', '-')} prints something else than --emit, --save, "
            "--compile-to and --dump-hlo-passes do: give one of them"
        )
    if flags["save"] and len(targets) > 1:
        raise UsageError("--save writes one file, for one --target")
    if flags["as_json"] and not _is_silent(flags, stages, targets):
        raise UsageError(
            f"--json holds figures; --emit {','.join(stages)} is a text: leave --json out, or "
            "write it to a file by -o"
        )
    if _is_many(stages, targets) and flags["output"] == "-":
        raise UsageError(f"--emit {','.join(stages)} writes several files: say where to, -o DIR")


def _check_output(flags: dict[str, Any], stages: list[str], targets: list[Any]) -> None:
    """Refuse to write where nothing can be, or where there is nothing to write."""
    output, is_report = flags["output"], not writes_artifacts(flags)
    if output != "-" and not stages and not (is_report and flags["as_json"]):
        offer = ": give --json, or redirect what is printed" if is_report else ""
        raise UsageError(f"-o says where --emit writes to, and there is none{offer}")
    if stages and (_is_many(stages, targets) or _is_folder(output)):
        require_folder(output)
    else:
        require_file(output)
    if flags["save"]:
        require_file(flags["save"])
    for target in targets if flags["dump_hlo_passes"] else ():
        place = Path(flags["dump_hlo_passes"], _folder_of(target, targets))
        require_folder(str(place))
        _refuse_old(place)


def _check_reach(flags: dict[str, Any], stages: list[str], targets: list[Any]) -> None:
    """Refuse what would have no effect, or one on something else than is meant."""
    is_here = [target.name for target in targets] == ["cpu"]
    is_judged = any(_is_given(flags, name) for name in _JUDGING) or not (
        is_here or writes_artifacts(flags)
    )
    if flags["compile_from"] == "hlo" and (is_judged or not is_here):
        raise UsageError("--compile-from hlo makes code for this machine's cpu, and no report")
    ahead = [name for name in ("hlo_pass", "dump_hlo_passes") if flags[name]]
    if flags["compile_from"] == "hlo" and ahead:
        raise UsageError(f"--{ahead[0].replace('_', '-')}: optimised HLO is past XLA's passes")
    if not flags["hlo_pass"] or is_judged:
        return
    is_compiled = flags["save"] or flags["dump_hlo_passes"] or not stages
    if not is_compiled and set(stages) <= set(UNCOMPILED):
        raise UsageError(f"--hlo-pass runs after --emit {','.join(stages)}: leave it out")


def _is_given(flags: dict[str, Any], name: str) -> bool:
    return flags.get(name) not in (None, False)


_JUDGING = ("report", "max_memory", "max_flops", "max_compile_seconds", "forbid")
_ELSEWHERE = ("run", "bench", "diff_plain", *_JUDGING)


def _stages(flags: dict[str, Any]) -> list[str]:
    if flags["emit"] and flags["compile_to"]:
        raise UsageError("--compile-to writes a stage whole, --emit for reading: give one of them")
    if flags["emit"] is not None and not flags["emit"].strip(", "):
        raise UsageError(f"--emit: expected stages, such as {', '.join(STAGES)}; found none")
    named = flags["compile_to"] or flags["emit"] or ""
    words = list(dict.fromkeys(word.strip() for word in named.split(",")))
    return words if named else []


def _is_many(stages: list[str], targets: list[Any]) -> bool:
    return len(stages) * len(targets) > 1


def _is_silent(flags: dict[str, Any], stages: list[str], targets: list[Any]) -> bool:
    """Whether stdout stays free for `--json`."""
    return not stages or flags["output"] != "-" or set(stages) <= set(_FIGURES)


def write_artifacts(job: Job, targets: list[Any], flags: dict[str, Any]) -> None:
    """Compile a job for each target and write what was asked for.

    Raises:
        JxcError: as compiling it; a stage that the program has none of.
    """
    from ...backend.targets import require
    from .host import xla_options

    stages, options = _stages(flags), xla_options(flags["xla_option"])
    told: dict[str, dict[str, Any]] = {}
    for target in targets:
        if flags["save"] or flags["dump_hlo_passes"] or not set(stages) <= set(UNCOMPILED):
            require(target)
        lowered = _lowered_for(job, target)
        summary: dict[str, Any] = {}
        told[target.name] = summary
        folder = _folder_of(target, targets)
        if stages:
            had = stages_of(stages, target)
            summary["files"] = _emit(lowered, target, had, options, flags, folder)
            if lacking := [stage for stage in stages if stage not in had]:
                summary["lacking"] = lacking
                click.echo(f"jxc: {target.name} has no {', '.join(lacking)}", err=True)
        if flags["dump_hlo_passes"]:
            place = Path(flags["dump_hlo_passes"], folder)
            summary["xla_passes"] = _dump_passes(lowered, target, options, flags, place)
        if flags["save"]:
            summary["saved"] = _save(lowered, target, options, flags)
    if flags["as_json"] and not (stages and flags["output"] == "-"):
        whole = {"schema_version": 1, "program": job.name, "targets": told}
        write_json(whole, "-")


def _folder_of(target: Any, targets: list[Any]) -> str:
    """Below the one that the user names: none for a target alone."""
    return target.name.replace(":", "-").replace("/", "-") if len(targets) > 1 else ""


def _lowered_for(job: Job, target: Any) -> Any:
    plain = job.plain
    if plain.platform != target.platform:
        plain = plain.for_target(target.name)
    return plain.opt(job.pipeline, target=target.name, assume=job.assume)


def _emit(
    lowered: Any,
    target: Any,
    stages: list[str],
    options: dict[str, Any],
    flags: dict[str, Any],
    folder: str,
) -> list[str]:
    from ...backend.artifacts.stages import emit

    made = emit(
        lowered,
        stages,
        target,
        xla_options=options,
        hlo_pass=flags["hlo_pass"],
        whole_constants=bool(flags["compile_to"]),
    )
    alone = len(made) == 1 and "," not in (flags["emit"] or "") and not folder
    if alone and not _is_folder(flags["output"]):
        write_output(made[0].data, flags["output"])
        return [flags["output"]]
    place = _made(Path(flags["output"], folder))
    for artifact in made:
        write_output(artifact.data, str(place / artifact.file))
    return [str(place / artifact.file) for artifact in made]


def _is_folder(output: str) -> bool:
    return output != "-" and (output.endswith("/") or Path(output).is_dir())


def _made(place: Path) -> Path:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place}: cannot create this folder: {error.strerror}") from None
    return place


def _dump_passes(
    lowered: Any, target: Any, options: dict[str, Any], flags: dict[str, Any], place: Path
) -> dict[str, Any]:
    from ...backend.artifacts.xla_passes import trace_passes

    found = trace_passes(lowered.module, target, xla_options=options, hlo_pass=flags["hlo_pass"])
    files = found.files()
    for name, text in files.items():
        write_output(text, str(_made(place) / name))
    if not flags["as_json"]:
        to_stderr = bool(_stages(flags)) and flags["output"] == "-"
        click.echo("\n".join(_told(target.name, found, place)), err=to_stderr)
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


def _refuse_old(place: Path) -> None:
    """Files of an earlier run would be taken for this one's."""
    if (place / "0000-before.txt").exists():
        raise UsageError(f"{place} holds the passes of an earlier run: name another folder")


def _told(name: str, found: Any, place: Path) -> list[str]:
    changed, seconds = len(found.changes), found.seconds
    if not seconds:
        ran = f"{changed} of XLA's passes changed something; its compiler tells no more of them"
        return [f"{name}: {ran}: {place}"]
    total = sum(seconds.values())
    lines = [
        f"{name}: {found.runs} of XLA's passes ran, {changed} changed something: {place}",
        f"{'':4}{total * 1e3:.1f} of XLA's {found.build.seconds * 1e3:.0f} ms; the longest:",
    ]
    longest = list(seconds.items())[:8]
    return [*lines, *(f"{'':4}{took * 1e3:8.2f} ms  {each}" for each, took in longest)]


def _save(
    lowered: Any, target: Any, options: dict[str, Any], flags: dict[str, Any]
) -> dict[str, Any]:
    from ...backend.artifacts.hlo_pass import compile_with
    from ...backend.artifacts.saving import save

    made = compile_with(lowered, target, xla_options=options, hlo_pass=flags["hlo_pass"])
    header = save(made, flags["save"])
    return {"file": flags["save"], "target": header.target, "versions": dict(header.versions)}


def resumed(stage: str | None, data: bytes, name: str) -> Any:
    """The program in a file of `--compile-to hlo`; None where the file is read like any module.

    Raises:
        UsageError: the file is not of that stage.
        JxcError: as `lowered_from_hlo`.
    """
    begins = data[:4096].lstrip()
    is_hlo = begins.startswith(b"HloModule")
    is_optimised = is_hlo and b"is_scheduled=true" in begins.partition(b"\n")[0]
    found = "hlo" if is_optimised else "hlo-before" if is_hlo else "stablehlo"
    if stage is None and is_optimised:
        raise UsageError(f"{name}: XLA has optimised this HLO: --compile-from hlo goes on from it")
    if stage is None:
        return None
    if found != stage:
        raise UsageError(f"--compile-from {stage}: {name} looks like {found}")
    if stage != "hlo":
        return None
    from ...backend.artifacts.resume import lowered_from_hlo

    return lowered_from_hlo(data.decode(errors="replace"), name)
