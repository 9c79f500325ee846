"""Whether `jxc profile` is right: its total against the wall clock, its lines against changes.

    python benchmarks/profile_accuracy.py [--rounds N] [PROGRAM...]

Runs in an environment with keras, flax, optax and numpyro. For each program in `profiled/`, a line
is changed and the program is profiled again. What the profile said that the change saves is
compared with the difference of the running times. Rounds alternate between all versions of a
program, and the script prints medians. "total" is the profile's wall clock divided by the one that
the program measured.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent / "profiled"
TIMEOUT = 900
RUN = "import sys; from jxc.cli import main; sys.exit(main())"


class Change(NamedTuple):
    """A change of one line, and the rows whose time it saves.

    Attributes:
        before, after: texts of the line.
        saves: the part of the rows' time that it saves.
        rows: texts in the source of the rows' lines.
    """

    before: str
    after: str
    saves: float
    rows: Sequence[str]


CHANGES = {
    "keras_fit": [
        Change("HIDDEN = 1024", "HIDDEN = 512", 0.5, ["model.fit("]),
        Change("PAUSE = 0.01", "PAUSE = 0.0", 1.0, ["time.sleep(PAUSE)"]),
    ],
    "flax_loop": [
        Change("HIDDEN = 1024", "HIDDEN = 512", 0.5, ["nn.Dense(HIDDEN)", "optimizer.update"]),
        Change("jnp.sort(x, axis=-1)", "x", 1.0, ["jnp.sort("]),
        Change("in range(count):", "in [0] * count:", 0.0, []),
        Change("x = rng.normal(size=(512, 256))", "x = np.ones((512, 256))", 1.0, ["rng.normal("]),
    ],
    "numpyro_sampler": [
        Change("jnp.sin(X * scale)", "X * scale", 1.0, ["jnp.sin("]),
        Change("SIZE = 4000", "SIZE = 2000", 0.5, ["jnp.sin(", "features @", "mcmc.run("]),
    ],
}
"""For each program its changes. One of flax_loop's changes nothing, and shows the noise."""


def profiled(text: str, folder: Path) -> tuple[dict[str, Any], float]:
    """The profile of a program and its own measurement of the wall clock, in seconds."""
    script, result = folder / "program.py", folder / "profile.json"
    script.write_text(text)
    command = [sys.executable, "-c", RUN, "profile", "--no-o2", "--json", str(result), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    wall = re.search(r"^WALL (.*)$", done.stdout, re.MULTILINE)
    assert wall is not None
    return json.loads(result.read_text()), float(wall[1])


def seconds_of(profile: dict[str, Any], text: str, rows: Sequence[str]) -> float:
    """The time of the lines that contain any of `rows`; host work beside a line counts as well."""
    lines = text.splitlines()
    found = 0.0
    for row in profile["by"]["line"]:
        number = row["line"]["line"] if row["line"] else 0
        if number and any(each in lines[number - 1] for each in rows):
            found += row["seconds"]
    return found


def compare(name: str, rounds: int) -> None:
    """Print the table of one program."""
    text = (PROGRAMS / f"{name}.py").read_text()
    changes = CHANGES[name]
    versions = [text, *(text.replace(each.before, each.after) for each in changes)]
    assert len(set(versions)) == len(versions), "a change changes nothing"
    running: list[list[float]] = [[] for _ in versions]
    said: list[list[float]] = [[] for _ in changes]
    totals: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for number, version in enumerate(versions):
                profile, wall = profiled(version, Path(folder))
                running[number].append(profile["running_seconds"])
                totals.append(profile["seconds"] / wall)
                if number == 0:
                    for found, change in zip(said, changes, strict=True):
                        seconds = seconds_of(profile, text, change.rows)
                        found.append(seconds * change.saves / profile["running_seconds"])
    before = statistics.median(running[0])
    print(f"{name}: running {before:.2f} s, total {min(totals):.3f} to {max(totals):.3f}")
    for change, found, after in zip(changes, said, running[1:], strict=True):
        saved = 1 - statistics.median(after) / before
        print(f"  {change.after:32} said {statistics.median(found):6.1%}  saved {saved:6.1%}")


def main() -> None:
    """Compare the programs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for name in options.programs or CHANGES:
        compare(name, options.rounds)


if __name__ == "__main__":
    main()
