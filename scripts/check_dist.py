"""Install the wheel outside the checkout on each Python found, and run it there.

Each Python from 3.11 to 3.14 gets a fresh environment with the newest jax that it supports, and
one with the oldest jax that jxc supports. In each, the wheel is installed by `pip install FILE`
alone and goes through these steps:

    imports     `python -W error -c "import jxc"`, `jxc --version`
    extras      commands whose extra is missing name the extra to install
    tour        scripts/release/tour.py: the README's first commands, and jxc.jit
    types       `mypy --strict` on the tour, against the installed package
    tests       a part of tests/ and of lit_tests/, copied, against the installed package
    demo        scripts/demo.py, where Keras can be installed
    removal     `pip uninstall` leaves no file; the same after installing the sdist, and a checkout
                in editable mode

With --quick, only the running Python is used, with the newest jax, up to the tour. `make dist-test`
runs all of it. Exit code 1 if a step failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from scripts.release.environments import (  # noqa: E402
    MINORS,
    Environment,
    Failed,
    find_pythons,
    make_environment,
)

OLDEST = next(
    each.partition(">=")[2]
    for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    if each.startswith("jax>=")
)
"""The oldest version of jax that jxc supports."""

TESTS = [
    "ir/test_imports.py",
    "ir/test_io.py",
    "rewrite/test_rules.py",
    "pipeline/test_run.py",
    "frontend/test_specs.py",
    "backend/test_jit.py",
    "backend/test_hook.py",
    "testing/test_plugin.py",
]
"""The part of the tests that needs no other file of the checkout, and covers each stage."""

LIT_TESTS = ["run", "opt/inline.mlir", "opt/load_pass.mlir"]


@dataclass(frozen=True)
class Distribution:
    """A built wheel and sdist, and a folder with the sdist's contents."""

    wheel: Path
    sdist: Path
    unpacked: Path


@dataclass
class Row:
    """A line of the summary."""

    python: str
    jax: str
    result: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.python:<8} {self.jax:<10} {self.seconds:>7.0f}  {self.result}"


def imports(env: Environment, dist: Distribution) -> None:
    where = env.run(env.python, "-W", "error", "-c", "import jxc; print(jxc.__file__)")
    if not where.strip().startswith(str(env.folder)):
        raise Failed(f"jxc was imported from {where.strip()}, not from the environment")
    shown = env.run("jxc", "--version")
    version = dist.wheel.name.split("-")[1]
    if f"jxc {version}," not in shown:
        raise Failed(f"expected version {version}, found: {shown}")
    env.pip("check")


MISSING = {
    "jxc-compiler[html]": ("explain", "--html", "page.html", "script.py"),
    "jxc-compiler[lsp]": ("lsp",),
    "jxc-compiler[testing]": ("test", "."),
    "pip install libtpu": ("report", "script.py:fn", "f32[4]", "--target", "tpu:v5e"),
    "pip install jax-cuda13-plugin": ("report", "script.py:fn", "f32[4]", "--target", "gpu:h100"),
}
"""What the error of a command names, where the packages that it needs are not installed."""


def extras(env: Environment, dist: Distribution) -> None:
    (env.work / "script.py").write_text("def fn(x):\n    return x + 1\n")
    for expected, arguments in MISSING.items():
        found = env.run("jxc", *arguments, codes=(1, 2, 3))
        if expected not in found or "Traceback" in found:
            raise Failed(f"$ jxc {' '.join(arguments)}\nexpected {expected!r} in: {found}")


def tour(env: Environment, dist: Distribution) -> None:
    shutil.copy(dist.unpacked / "scripts" / "release" / "tour.py", env.work)
    env.run(env.python, "-W", "error::DeprecationWarning:jxc", "tour.py")


def types(env: Environment, dist: Distribution) -> None:
    env.pip("install", "-q", "mypy")
    env.run(env.python, "-m", "mypy", "--strict", "tour.py")


def tests(env: Environment, dist: Distribution) -> None:
    env.pip("install", "-q", f"jxc-compiler[test] @ {dist.wheel.as_uri()}")
    copy = env.folder / "copy"
    for name in ("tests", "lit_tests"):
        shutil.copytree(dist.unpacked / name, copy / name)
    env.run(
        *(env.python, "-m", "pytest", "-q", "-n", "2", "--dist=loadfile", "-p", "no:cacheprovider"),
        *(f"tests/{name}" for name in TESTS),
        cwd=copy,
    )
    env.run("lit", "-q", "-j2", *(f"lit_tests/{name}" for name in LIT_TESTS), cwd=copy)


def demo(env: Environment, dist: Distribution) -> None:
    env.pip("install", "-q", f"jxc-compiler[demo] @ {dist.wheel.as_uri()}")
    shutil.copy(dist.unpacked / "scripts" / "demo.py", env.work)
    found = env.run(env.python, "demo.py", "--rounds", "5")
    if "results agree" not in found:
        raise Failed(found)


def removal(env: Environment, dist: Distribution) -> None:
    remove(env)
    editable = env.folder / "checkout"
    shutil.copytree(dist.unpacked, editable)
    for arguments in ([dist.sdist], ["-e", editable]):
        env.pip("install", "-q", *arguments)
        env.run("jxc", "--version")
        env.run(env.python, "-c", "import jxc, jax.numpy as jnp; jxc.jit(jnp.sin)(1.0)")
        remove(env)


def remove(env: Environment) -> None:
    """Uninstall jxc. No file and no entry point may be left, and JAX still runs.

    pytest writes bytecode of its plugins beside them, which pip leaves: it is deleted before.

    Raises:
        Failed: something is left.
    """
    for bytecode in (env.folder / "venv").rglob("*-pytest-*.pyc"):
        bytecode.unlink()
    env.pip("uninstall", "-q", "-y", "jxc-compiler")
    left = [str(file) for file in (env.folder / "venv").rglob("*jxc*")]
    if left:
        raise Failed("left behind by pip uninstall: " + ", ".join(left))
    env.run(env.python, "-W", "error", "-c", LEFT)


LEFT = """
import importlib.metadata, os
os.environ["JXC_PIPELINE"] = "O2"
points = [each for one in importlib.metadata.distributions() for each in one.entry_points]
assert not [each for each in points if "jxc" in each.value], points
import jax
jax.jit(jax.numpy.sin)(1.0)
"""

STEPS: list[Callable[[Environment, Distribution], None]] = [
    imports,
    extras,
    tour,
    types,
    tests,
    demo,
    removal,
]


def check(python: str, jax: str | None, dist: Distribution, quick: bool) -> Row:
    """Go through all steps on one Python with one version of jax, the newest if None."""
    start = perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="jxc-environment-"))
    shown, version, failed = Path(python).name, jax or "newest", ["installation"]
    try:
        env = make_environment(python, folder)
        shown = env.run(env.python, "-c", "import platform; print(platform.python_version())")
        pinned = [f"jax=={jax}", f"jaxlib=={jax}"] if jax else []
        env.pip("install", "-q", dist.wheel, *pinned)
        version = env.versions("jax")["jax"]
        steps = STEPS[:3] if quick else STEPS
        failed = [step.__name__ for step in steps if not passes(step, env, dist)]
    except Failed as error:
        print(error, file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = f"FAILED: {' '.join(failed)}" if failed else "passed"
    return Row(shown.strip(), version, result, perf_counter() - start)


def passes(
    step: Callable[[Environment, Distribution], None], env: Environment, dist: Distribution
) -> bool:
    """Whether a step passes; prints its time, or why it failed."""
    start = perf_counter()
    try:
        step(env, dist)
    except Failed as error:
        print(error, file=sys.stderr)
        return False
    print(f"  {step.__name__:<8} {perf_counter() - start:6.0f} s", flush=True)
    return True


def check_each(pythons: Sequence[str], dist: Distribution, quick: bool) -> Iterator[Row]:
    """Check each Python with its newest jax, and without `quick` with the oldest, too."""
    for python in pythons:
        print(f"{python}, the newest jax", flush=True)
        row = check(python, None, dist, quick)
        yield row
        if not quick and row.jax != OLDEST:
            print(f"{python}, jax {OLDEST}", flush=True)
            yield check(python, OLDEST, dist, quick)


def find_distribution(folder: Path, temporary: Path) -> Distribution:
    """The wheel and the sdist in `folder`.

    Raises:
        SystemExit: there is not exactly one of each.
    """
    wheels = list(folder.glob("jxc_compiler-*.whl"))
    sdists = list(folder.glob("jxc_compiler-*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        sys.exit(f"expected one wheel and one sdist of jxc in {folder}: run `make dist`")
    with tarfile.open(sdists[0]) as archive:
        archive.extractall(temporary, filter="data")
    unpacked = temporary / sdists[0].name.removesuffix(".tar.gz")
    return Distribution(wheels[0].resolve(), sdists[0].resolve(), unpacked)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", metavar="DIR")
    parser.add_argument("--python", action="append", default=[], help="a Python to use as well")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="Python 3.N only")
    parser.add_argument("--quick", action="store_true", help="this Python only, up to the tour")
    options = parser.parse_args()
    named = [*options.python, *os.environ.get("PYTHONS", "").split()]
    minors = options.only or MINORS
    pythons = {n: path for n, path in find_pythons(named).items() if n in minors}
    chosen = [sys.executable] if options.quick else [pythons[minor] for minor in sorted(pythons)]
    with tempfile.TemporaryDirectory(prefix="jxc-dist-") as temporary:
        dist = find_distribution(options.dist, Path(temporary))
        rows = list(check_each(chosen, dist, options.quick))
        sizes = [f"{file.name}  {file.stat().st_size:,} bytes" for file in (dist.wheel, dist.sdist)]
    print("", *sizes, "", f"{'python':<8} {'jax':<10} {'seconds':>7}  result", *rows, sep="\n")
    for minor in () if options.quick else minors:
        if minor not in pythons:
            print(f"3.{minor:<6} skipped: no such Python on PATH, in pyenv or by --python")
    return int(any(row.result.startswith("FAILED") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
