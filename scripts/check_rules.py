"""Try every rule on generated programs, some hundred of them, and write how many checked it.

The programs are variants of the rule's lit cases: other element types, extents, constants,
attributes and operands. Each on which the rule, alone, fires is run before and after. The same seed
gives the same programs and arguments. What is found goes to `passes/checked.json`, which
`jxc opt --help-pass` and `passes/README.md` show. Exit code 1 where a program means something else
afterwards, where a rule raised, or where one was checked on no program.
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
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from rules.campaign import Tally, run_campaign  # noqa: E402

from tests.lit_seeds import all_rules  # noqa: E402

CHECKED = ROOT / "passes" / "checked.json"


def child(options: argparse.Namespace) -> None:
    """Answer each rule's name on stdin with a line of JSON. A crash in MLIR or XLA ends us."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in map(str.strip, sys.stdin):
        tally = run_campaign(all_rules()[name], options.count, options.seed)
        print(json.dumps(tally.as_json()), file=answers, flush=True)


def tallies(
    names: Sequence[str], options: argparse.Namespace, tell: Callable[[Tally], None]
) -> list[Tally]:
    """What came of each rule, from children that share the work."""
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
                process = _started(options)
            found[name] = _asked(process, name)
            tell(found[name])
        if process is not None:
            process.communicate()

    threads = [threading.Thread(target=work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[name] for name in names]


def _started(options: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--child", f"--count={options.count}"]
    return subprocess.Popen(
        [*command, f"--seed={options.seed}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _asked(process: subprocess.Popen[str], name: str) -> Tally:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if answer:
        return Tally.from_json(json.loads(answer))
    tally = Tally(name, failures=1)
    tally.wrong.append(f"{name}: a child died (exit code {process.wait()}) trying it")
    return tally


def record(found: Sequence[Tally], options: argparse.Namespace) -> dict[str, Any]:
    """What `passes/checked.json` holds: of what run, and for each rule how many programs.

    Rules that were not asked for keep what the file says of them. Proofs are those of `--proofs`:
    a rule that was asked for and whose proof is not in that file is not proved.

    Raises:
        SystemExit: some rules of a run with other versions or another seed were asked for.
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
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", help="only these; all when none is named")
    parser.add_argument("--count", type=int, default=100, help="programs to check each rule on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--proofs", type=Path, help="what `scripts/prove.py --json` wrote")
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
    """A bar on a terminal's stderr; nothing elsewhere."""

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
