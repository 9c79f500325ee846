"""Whether `jxc profile` is right: its total against the wall clock, its lines against changes.

    python benchmarks/profile_accuracy.py [--rounds N] [PROGRAM...]

Runs in an environment with keras, flax, optax and numpyro. For each program in `profiled/`, a line
is removed or made cheap, and the program is profiled again. The script prints for each change, in
percent of the program's running time and as medians of the rounds:

- said: the time of the rows that the change concerns.
- left: the time of these rows after the change.
- saved: how much less time the program took, with the quartiles of the rounds.

The profile is right if "said" less "left" is "saved". Each changed run is compared with the mean of
the unchanged runs before and after it. "total" is the profile's wall clock divided by the one that
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
SCRIPT = "program.py"
TIMEOUT = 900
RUN = "import sys; from jxc.cli import main; sys.exit(main())"


class Change(NamedTuple):
    """A change of one line, and the rows whose time it saves.

    Attributes:
        before, after: texts with the same number of lines.
        rows: texts in the source or the name of the rows' lines.
    """

    before: str
    after: str
    rows: Sequence[str]


TWO_LAYERS = "nn.Dense(256)(nn.relu(nn.Dense(HIDDEN)(x)))"

CHANGES = {
    "keras_fit": [
        Change('layers.Dense(WIDTH, activation="relu", name="second"),', "", ["[second]"]),
        Change("COUNT = 400_000", "COUNT = 0", ["sum(range(COUNT))"]),
        Change('layers.Dense(WIDTH, activation="tanh", name="third"),', "", ["[third]"]),
    ],
    "flax_loop": [
        Change("jnp.sort(x, axis=-1)", "x", ["jnp.sort("]),
        Change(TWO_LAYERS, "x", ["nn.Dense(HIDDEN)", "optimizer.update"]),
        Change("x = rng.normal(", "x = x if _ else rng.normal(", ["rng.normal("]),
        Change("in range(count):", "in range(0, count):", []),
    ],
    "numpyro_sampler": [
        Change("jnp.sin(X * scale)", "X * scale", ["jnp.sin("]),
        Change("jnp.tanh(X @ mixing)", "X", ["jnp.tanh("]),
        Change("jnp.exp(-jnp.square(X - scale))", "X - scale", ["jnp.exp("]),
    ],
}
"""For each program its changes. One of flax_loop's changes nothing, and shows the noise."""


def profiled(text: str, folder: Path) -> tuple[dict[str, Any], float]:
    """The profile of a program and its own measurement of the wall clock, in seconds."""
    script, result = folder / SCRIPT, folder / "profile.json"
    script.write_text(text)
    command = [sys.executable, "-c", RUN, "profile", "--no-o2", "--json", str(result), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    wall = re.search(r"^WALL (.*)$", done.stdout, re.MULTILINE)
    assert wall is not None
    return json.loads(result.read_text()), float(wall[1])


def rows_of(profile: dict[str, Any], text: str, rows: Sequence[str]) -> set[tuple[int, str]]:
    """Line and name of the rows that contain any of `rows`, host work beside a line included."""
    lines = text.splitlines()
    found = set()
    for row in profile["by"]["line"]:
        if row["line"] and Path(row["line"]["file"]).name == SCRIPT:
            shown = f"{lines[row['line']['line'] - 1]} [{row['detail']}]"
            if any(each in shown for each in rows):
                found.add((row["line"]["line"], row["detail"]))
    return found


def seconds_of(profile: dict[str, Any], rows: set[tuple[int, str]]) -> float:
    """The time of rows."""
    return sum(
        row["seconds"]
        for row in profile["by"]["line"]
        if row["line"]
        and Path(row["line"]["file"]).name == SCRIPT
        and (row["line"]["line"], row["detail"]) in rows
    )


def compare(name: str, rounds: int) -> None:
    """Print the table of one program."""
    text = (PROGRAMS / f"{name}.py").read_text()
    changes = CHANGES[name]
    figures: list[list[tuple[float, float, float]]] = [[] for _ in changes]
    totals: list[float] = []
    running: list[float] = []
    with tempfile.TemporaryDirectory() as folder:

        def run(version: str) -> dict[str, Any]:
            profile, wall = profiled(version, Path(folder))
            totals.append(profile["seconds"] / wall)
            return profile

        first = run(text)
        for _ in range(rounds):
            for change, found in zip(changes, figures, strict=True):
                version = text.replace(change.before, change.after)
                assert version != text, "a change changes nothing"
                changed, last = run(version), run(text)
                before = (first["running_seconds"] + last["running_seconds"]) / 2
                rows = rows_of(first, text, change.rows) | rows_of(last, text, change.rows)
                said = (seconds_of(first, rows) + seconds_of(last, rows)) / 2
                saved = before - changed["running_seconds"]
                found.append((said / before, seconds_of(changed, rows) / before, saved / before))
                running.append(before)
                first = last
    print(
        f"{name}: running {statistics.median(running):.2f} s, "
        f"total {min(totals):.3f} to {max(totals):.3f}"
    )
    for change, found in zip(changes, figures, strict=True):
        said, left, saved = (statistics.median(each) for each in zip(*found, strict=True))
        low, _, high = statistics.quantiles([each[2] for each in found], n=4)
        print(
            f"  {change.before[:40]:40} said {said:6.1%}  left {left:6.1%}  "
            f"saved {saved:6.1%} ({low:.1%} to {high:.1%})"
        )


def main() -> None:
    """Compare the programs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: expected 2 or more, for quartiles")
    for name in options.programs or CHANGES:
        compare(name, options.rounds)


if __name__ == "__main__":
    main()
