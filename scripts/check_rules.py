"""Check every rule on about a hundred generated programs, and record the numbers.

The programs are variants of the rule's lit cases: other element types, sizes, constants,
attributes and operands. Where the rule alone fires, the program is run before and after. The same
seed gives the same programs and arguments. The results are written to `passes/checked.json`, which
`jxc opt --help-pass` and `passes/README.md` show. The exit code is 1 if a program's results differ,
if a rule raised an exception, or if a rule was checked on no program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from queue import Empty, Queue
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ |= {"JAX_PLATFORMS": "cpu", "JXC_RATES": "shipped"}
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from rules.campaign import Tally, run_campaign  # noqa: E402

from tests.lit_seeds import all_rules  # noqa: E402

CHECKED = ROOT / "passes" / "checked.json"


def child(options: argparse.Namespace) -> None:
    """Answer each rule's name on stdin with a line of JSON. A crash of MLIR ends this process."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in map(str.strip, sys.stdin):
        tally = run_campaign(all_rules()[name], options.count, options.seed)
        print(json.dumps(tally.as_json()), file=answers, flush=True)


def tallies(
    names: Sequence[str], options: argparse.Namespace, tell: Callable[[Tally], None]
) -> list[Tally]:
    """The results for each rule, from child processes that share the work."""
    queue: Queue[str] = Queue()
    for name in names:
        queue.put(name)
    found: dict[str, Tally] = {}

    def work() -> None:
        process: subprocess.Popen[str] | None = None
        while True:
            try:
                name = queue.get_nowait()
            except Empty:
                break
            if process is None or process.poll() is not None:
                process = _start(options)
            found[name] = _ask(process, name)
            tell(found[name])
        if process is not None:
            process.communicate()

    threads = [threading.Thread(target=work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[name] for name in names]


def _start(options: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--child", f"--count={options.count}"]
    return subprocess.Popen(
        [*command, f"--seed={options.seed}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _ask(process: subprocess.Popen[str], name: str) -> Tally:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if answer:
        return Tally.from_json(json.loads(answer))
    tally = Tally(name, failures=1)
    tally.wrong.append(f"{name}: the child process died (exit code {process.wait()})")
    return tally


def record(found: Sequence[Tally], options: argparse.Namespace) -> dict[str, Any]:
    """The new contents of `passes/checked.json`: versions and seed, and numbers for each rule.

    Rules that are not named on the command line keep their entries. Proofs come from `--proofs`;
    a checked rule without an entry in that file counts as not proved.

    Raises:
        SystemExit: only some rules are named, and the file is from other versions or another seed.
    """
    run = {name: version(name) for name in ("jax", "jaxlib")} | {"seed": options.seed}
    rules = _kept(run) if options.rules else {}
    proofs = json.loads(options.proofs.read_text()) if options.proofs else {}
    for tally in found:
        counts = {"generated": tally.generated, "fired": tally.fired}
        rules[tally.rule] = {**counts, "checked": tally.checked.total()}
        if tally.failures:
            rules[tally.rule]["wrong"] = tally.failures
        proof = proofs.get(tally.rule, {})
        if proof.get("status") in ("proved", "in part"):
            rules[tally.rule] |= {"proved": proof["proved"], "status": proof["status"]}
    return {"run": run, "rules": {name: rules[name] for name in all_rules() if name in rules}}


def _kept(run: dict[str, Any]) -> dict[str, Any]:
    recorded = json.loads(CHECKED.read_text())
    if recorded["run"] != run:
        sys.exit(f"check_rules.py: the last full run was {recorded['run']}, this is {run}: run all")
    return recorded["rules"]


def report(found: Sequence[Tally], seconds: float) -> int:
    """Print the table and the findings; returns the exit code."""
    width = max(len(tally.rule) for tally in found)
    print(f"{'rule':{width}}  fired checked quiet invalid  not run")
    for t in sorted(found, key=lambda tally: tally.checked.total()):
        quiet = t.generated - t.invalid - t.fired
        reasons = "; ".join(f"{count} {reason}" for reason, count in t.not_run.most_common(2))
        line = f"{t.fired:6} {t.checked.total():7} {quiet:5} {t.invalid:7}  {reasons}"
        print(f"{t.rule:{width}}{line}".rstrip())
    idle = [tally.rule for tally in found if not tally.checked.total()]
    for tally in found:
        for text in tally.wrong:
            print(f"\nWRONG ({tally.failures} such): {text}")
    checked = sum(tally.checked.total() for tally in found)
    print(f"{len(found)} rules, {checked} programs compared in {seconds:.0f} s")
    if idle:
        print(f"checked on no program: {', '.join(idle)}")
    return int(bool(idle) or any(tally.failures for tally in found))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", help="names of rules; all by default")
    parser.add_argument("--count", type=int, default=100, help="number of programs for each rule")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--proofs", type=Path, help="the output of `scripts/prove.py --json`")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return 0
    if unknown := sorted(set(options.rules) - set(all_rules())):
        parser.error(f"no rule {unknown[0]!r}; `jxc opt --help-pass simplify` lists them")
    names, start = options.rules or list(all_rules()), perf_counter()
    with _progress(len(names)) as tell:
        found = tallies(names, options, tell)
    CHECKED.write_text(json.dumps(record(found, options), indent=1, sort_keys=True) + "\n")
    return report(found, perf_counter() - start)


class _progress:
    """A progress bar, if stderr is a terminal."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self.bar = Progress(console=Console(stderr=True), transient=True)
        self.bar.disable = not sys.stderr.isatty()
        self.task = self.bar.add_task("rules", total=total)

    def __enter__(self) -> Callable[[Tally], None]:
        self.bar.start()
        return lambda tally: self.bar.update(self.task, advance=1, description=tally.rule)

    def __exit__(self, *error: object) -> None:
        self.bar.stop()


if __name__ == "__main__":
    sys.exit(main())
