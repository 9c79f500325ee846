"""Build the sdist and the wheel of jxc into `dist/`.

The files that git tracks are copied to a temporary folder and built there, so that other files in
the checkout cannot enter. The wheel is built from the sdist. Times come from `SOURCE_DATE_EPOCH`,
or else from the last commit: the same commit gives the same bytes with the same setuptools.
`make dist` also runs `twine check --strict`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", metavar="DIR")
    parser.add_argument(
        "--no-isolation",
        action="store_true",
        help="build with the setuptools of this environment; nothing is downloaded",
    )
    options = parser.parse_args()
    for file in build(options.output, ["--no-isolation"] if options.no_isolation else []):
        print(f"{file}  {file.stat().st_size:,} bytes")
    return 0


def build(output: Path, flags: list[str]) -> list[Path]:
    """The sdist and the wheel, in `output`. Older files of jxc there are deleted."""
    epoch = source_date()
    output.mkdir(parents=True, exist_ok=True)
    for old in (*output.glob("jxc_compiler-*.tar.gz"), *output.glob("jxc_compiler-*.whl")):
        old.unlink()
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary, "tree")
        copy_sources(tree)
        run_build("--sdist", tree, output, epoch, flags)
        (sdist,) = output.glob("jxc_compiler-*.tar.gz")
        normalize(sdist, epoch)
        with tarfile.open(sdist) as archive:
            archive.extractall(temporary, filter="data")
        unpacked = Path(temporary, sdist.name.removesuffix(".tar.gz"))
        run_build("--wheel", unpacked, output, epoch, flags)
    return [sdist, *output.glob("jxc_compiler-*.whl")]


def source_date() -> int:
    """Seconds since 1970 that stand for the time of every file."""
    if stated := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(stated)
    if (ROOT / ".git").exists():
        return int(git("log", "-1", "--format=%ct"))
    return int((ROOT / "PKG-INFO").stat().st_mtime)  # an unpacked sdist


def copy_sources(tree: Path) -> None:
    """Copy the tracked files to `tree`, with the same permissions on every machine."""
    for name in source_files():
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        target.chmod(0o755 if os.access(ROOT / name, os.X_OK) else 0o644)


def source_files() -> list[str]:
    """The paths of the files to build from: those that git tracks, or all of an unpacked sdist."""
    if (ROOT / ".git").exists():
        return [name for name in git("ls-files").splitlines() if (ROOT / name).is_file()]
    skipped = {"build", "dist", "__pycache__"}
    files = (each.relative_to(ROOT) for each in ROOT.rglob("*") if each.is_file())
    return [
        str(file)
        for file in sorted(files)
        if not any(p in skipped or p.startswith(".venv") or p.endswith("-info") for p in file.parts)
    ]


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run_build(kind: str, tree: Path, output: Path, epoch: int, flags: list[str]) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    command = [sys.executable, "-m", "build", kind, "-o", str(output.resolve()), *flags, str(tree)]
    done = subprocess.run(
        command, env=environment, umask=0o022, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def normalize(sdist: Path, epoch: int) -> None:
    """Write a tar file again with sorted members, no owner, and one time."""
    with tarfile.open(sdist) as archive:
        members = sorted(archive.getmembers(), key=lambda member: member.name)
        contents = [archive.extractfile(each) if each.isfile() else None for each in members]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as written:
            for member, content in zip(members, contents, strict=True):
                member.mtime, member.pax_headers = epoch, {}
                member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.mode = 0o755 if member.mode & 0o100 else 0o644
                written.addfile(member, content)
    with sdist.open("wb") as file:
        file.write(gzip.compress(packed.getvalue(), mtime=epoch))


if __name__ == "__main__":
    sys.exit(main())
