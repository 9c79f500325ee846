"""Run JAX's own tests under the levels, and list what plain JAX does not fail.

The tests come from a checkout of JAX's repository at the installed version, which is only read.
Each file runs in processes of its own under each pipeline, with `JXC_STRICT=1`; a warning of jxc
counts as a failure. The tests that do not pass run again without a pipeline. Outcomes are kept in
--out as they come, for each version of jxc, so that an interrupted run goes on where it stopped.

The exit code is 1 if a test fails or is skipped under a pipeline, is not without, and has no reason
in `scripts/suite/explained.toml`.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from suite.running import PIPELINES, Outcome, Record, Run, complete, read_record, stop
from suite.table import Compared, read_reasons, table, to_compare

ROOT = Path(__file__).parent.parent
QUICK = (
    "api_test array_test lax_control_flow_test lax_test lax_numpy_test pjit_test random_lax_test "
    "shard_map_test"
)
QUICK_SHARE = 4  # percent of the tests of these files, which take a few minutes
QUICK_PIPELINES = "list O2"


def main() -> int:
    """Run the command line."""
    options = _parser().parse_args()
    if error := _refusal(options):
        print(f"jax_suite: {error}", file=sys.stderr)
        return 2
    if options.quick:
        options.share, options.cases = QUICK_SHARE, 1
    files = options.files.split() or (QUICK.split() if options.quick else _files(options.checkout))
    chosen = options.pipelines or (QUICK_PIPELINES if options.quick else "list O2 O1")
    runs = [_run(options, file, each) for file in files for each in chosen.split()]
    if options.again:
        for run in runs:
            run.record.unlink(missing_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(options.jobs) as workers:
        try:
            records = list(workers.map(_complete, runs))
            plain = dict(workers.map(lambda file: _plain(options, file, runs, records), files))
        except KeyboardInterrupt:
            workers.shutdown(wait=False, cancel_futures=True)
            stop()
            return 130
    compared = [
        Compared(run.file, run.pipeline, record, plain[run.file])
        for run, record in zip(runs, records, strict=True)
    ]
    text, differences = table(compared, read_reasons(options.reasons))
    print(text)
    return int(bool(differences))


def _complete(run: Run) -> Record:
    had = read_record(run.record).is_complete
    record = complete(run)
    if not had:
        print(f"{run.file} {run.pipeline}: {len(record.failures())} failures", file=sys.stderr)
    return record


def _plain(
    options: argparse.Namespace, file: str, runs: list[Run], records: list[Record]
) -> tuple[str, dict[str, Outcome]]:
    """The file, and the outcomes without a pipeline of the tests that did not pass with one."""
    names = to_compare(r for run, r in zip(runs, records, strict=True) if run.file == file)
    if not names:
        return file, {}
    # What is not a test, such as "<exit>", is what the whole file does.
    only = None if any(name.startswith("<") for name in names) else names
    record = complete(_run(options, file, "plain"), only)
    return file, record.outcomes | record.failures()


def _run(options: argparse.Namespace, file: str, pipeline: str) -> Run:
    cases = f"cases-{options.cases}-share-{options.share}"
    folder = options.out / f"jax-{version('jax')}" / cases
    build = "" if pipeline == "plain" else _build()
    record = folder / build / pipeline / f"{file}.jsonl"
    return Run(
        options.checkout,
        file,
        pipeline,
        record,
        options.out / "bytecode",
        options.cases,
        options.share,
        options.seconds,
    )


def _build() -> str:
    """The commit of jxc, and a digest of what is changed since; "unknown" outside of git."""
    try:
        commit = _git("rev-parse", "--short", "HEAD").strip()
        changes = _git("diff", "HEAD", "--", "toolchain", "passes")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}-{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def _files(checkout: Path) -> list[str]:
    return sorted(path.stem for path in (checkout / "tests").glob("*_test.py"))


def _refusal(options: argparse.Namespace) -> str:
    """Why the command line cannot be run; empty if it can."""
    file = options.checkout / "jax" / "version.py"
    if not file.is_file() or not _files(options.checkout):
        return (
            f"{options.checkout} is not a checkout of JAX's repository, which has jax/version.py "
            "and tests/*_test.py. Get one with: git clone --depth 1 --branch "
            f"jax-v{version('jax')} https://github.com/jax-ml/jax"
        )
    found = re.search(r'^_version = "(.+)"', file.read_text(), re.MULTILINE)
    tag = found[1] if found else "unknown"
    if tag != version("jax") and not options.any_version:
        return (
            f"{options.checkout} is version {tag} of JAX, and {version('jax')} is installed. Check "
            f"out the tag jax-v{version('jax')}, or pass --any-version: tests of another version "
            "may fail with plain JAX too"
        )
    unknown = set((options.pipelines or "").split()) - set(PIPELINES)
    unknown |= set(options.files.split()) - set(_files(options.checkout))
    if unknown:
        return f"unknown: {' '.join(sorted(unknown))}; pipelines are {' '.join(PIPELINES)}"
    return ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="of https://github.com/jax-ml/jax")
    parser.add_argument("--files", default="", help="such as 'pjit_test api_test'; default: all")
    parser.add_argument("--pipelines", help=f"of {' '.join(PIPELINES)}; default: list O2 O1")
    parser.add_argument("--quick", action="store_true", help="a part that takes a few minutes")
    parser.add_argument("--cases", type=int, default=10, help="JAX_NUM_GENERATED_CASES")
    parser.add_argument("--share", type=int, default=100, help="percentage of the tests to run")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of a test")
    parser.add_argument("--jobs", type=int, default=2, help="files that run at the same time")
    parser.add_argument("--again", action="store_true", help="discard the outcomes that are kept")
    parser.add_argument("--any-version", action="store_true", help="run tests of another version")
    parser.add_argument("--reasons", type=Path, default=ROOT / "scripts/suite/explained.toml")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "jax-suite")
    return parser


if __name__ == "__main__":
    sys.exit(main())
