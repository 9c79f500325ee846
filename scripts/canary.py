"""Run jxc's tests on a jax that it was not released for, and name the private names that moved.

A fresh environment gets the newest jax, a copy of the checkout in editable mode and what the tests
need. Then:

1. Every private name of jax and jaxlib that a `_private.py` uses is looked up. One that is gone is
   reported as `jax._src.compiler.NAME: missing`, with the room and the line that use it.
2. pytest and lit run, a part of them with --fast.

    python scripts/canary.py                   # the newest release
    python scripts/canary.py --pre             # pre-releases, too
    python scripts/canary.py --nightly --fast  # JAX's nightly index
    python scripts/canary.py --jax 0.12.0      # a certain version

Exit code 1 if a name is missing or a test failed, 2 if jax or jxc cannot be installed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from scripts.check_dist import LIT_TESTS, TESTS  # noqa: E402
from scripts.dist import copy_sources  # noqa: E402
from scripts.release.environments import (  # noqa: E402
    Environment,
    Failed,
    find_pythons,
    make_environment,
)

NIGHTLY = "https://us-python.pkg.dev/ml-oss-artifacts-published/jax/simple/"
"""The index of JAX's nightly builds, as JAX's installation page states it."""

_SUITE_SECONDS = 3 * 3600


def jax_arguments(jax: str | None, pre: bool, nightly: bool) -> list[str]:
    """The arguments of `pip install` that choose jax and jaxlib."""
    pinned = f"=={jax}" if jax else ""
    flags = ["--pre"] if pre or nightly else []
    flags += ["--extra-index-url", NIGHTLY] if nightly else []
    return ["--upgrade", *flags, f"jax{pinned}", f"jaxlib{pinned}"]


def install(env: Environment, tree: Path, chosen: list[str]) -> str:
    """Install jax and the copy of the checkout in `tree`; the versions, as text.

    jax is installed again at the end, in case another package asked for an older one.
    """
    env.pip("install", "-q", *chosen)
    env.pip("install", "-q", "-e", f"{tree}[test]")
    env.pip("install", "-q", *chosen)
    found = env.versions("jax", "jaxlib", "numpy")
    return ", ".join(f"{name} {version}" for name, version in found.items())


def check_names(env: Environment, tree: Path) -> str:
    """The output of the check of private names."""
    script = tree / "scripts" / "release" / "private_names.py"
    return env.run(env.python, script, "toolchain", codes=(0, 1), cwd=tree)


def run_pytest(env: Environment, tree: Path, fast: bool, jobs: int) -> list[str]:
    """The lines of pytest's summary: failed tests with their errors, and the counts."""
    chosen = [f"tests/{name}" for name in TESTS] if fast else ["tests"]
    flags = ["-q", "-n", str(jobs), "--dist=loadfile", "--tb=no", "-p", "no:cacheprovider"]
    command = [env.python, "-m", "pytest", *flags, *chosen]
    text = env.run(*command, seconds=_SUITE_SECONDS, codes=(0, 1), cwd=tree)
    lines = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return [*lines, text.strip().splitlines()[-1]]


def run_lit(env: Environment, tree: Path, fast: bool, jobs: int) -> list[str]:
    """The lines of lit's summary: failed tests, and the counts."""
    chosen = [f"lit_tests/{name}" for name in LIT_TESTS] if fast else ["lit_tests"]
    command = ["lit", f"-j{jobs}", *chosen]
    text = env.run(*command, seconds=_SUITE_SECONDS, codes=(0, 1), cwd=tree)
    kept = re.compile(r"(FAIL|TIMEOUT|UNRESOLVED|XPASS): |  \w[\w ]*: +\d+ ")
    return [line.strip() for line in text.splitlines() if kept.match(line)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", help="the Python to use; the newest one found if not given")
    parser.add_argument("--jax", metavar="VERSION", help="this version of jax and jaxlib")
    parser.add_argument("--pre", action="store_true", help="the newest jax, also a pre-release")
    parser.add_argument("--nightly", action="store_true", help="the newest nightly build of jax")
    parser.add_argument("--fast", action="store_true", help="run a part of the tests only")
    parser.add_argument("--jobs", type=int, default=2, help="tests that run at a time")
    options = parser.parse_args()
    pythons = find_pythons([])
    if not options.python and not pythons:
        sys.exit("no Python 3.11 or newer on PATH or in pyenv: name one with --python")
    folder = Path(tempfile.mkdtemp(prefix="jxc-canary-"))
    try:
        tree = folder / "tree"
        copy_sources(tree)
        env = make_environment(options.python or pythons[max(pythons)], folder)
        chosen = jax_arguments(options.jax, options.pre, options.nightly)
        print(install(env, tree, chosen), flush=True)
    except Failed as error:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"the environment cannot be made:\n{error}", file=sys.stderr)
        return 2
    try:
        return report(env, tree, options.fast, options.jobs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(env: Environment, tree: Path, fast: bool, jobs: int) -> int:
    """Print the three results; 1 if one of them is bad."""
    is_bad = False
    for title, lines in (
        ("private names", lambda: check_names(env, tree).strip().splitlines()),
        ("pytest", lambda: run_pytest(env, tree, fast, jobs)),
        ("lit", lambda: run_lit(env, tree, fast, jobs)),
    ):
        try:
            found = lines()
        except Failed as error:
            found = [f"FAILED: {error}"]
        is_bad |= any(is_failure(line) for line in found)
        print(f"\n{title}", *(f"  {line.replace(f'{tree}/', '')}" for line in found), sep="\n")
        sys.stdout.flush()
    return int(is_bad)


def is_failure(line: str) -> bool:
    """Whether a line of a summary states a missing name, a failed test or no tests at all."""
    marks = ("FAILED", "ERROR", "FAIL:", "TIMEOUT:", "UNRESOLVED:", "XPASS:", "no tests ran")
    return line.startswith(marks) or bool(re.search(r": missing, used at |\d+ failed|error", line))


if __name__ == "__main__":
    sys.exit(main())
