"""Run mypy on jxc in its installed layout, and on packages of `scripts/`.

Type checkers resolve imports by folder names, which differ from jxc's import names: `toolchain/` is
`jxc`, and `passes/` is `jxc.passes`. The script therefore creates a folder of links with the
installed layout. Arguments are passed on to mypy.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAYOUT = ROOT / "build" / "types"
SCRIPTS = ("proof", "release", "suite", "variants")


def link_tree(source: Path, target: Path) -> None:
    """Recreate the folders of `source` under `target`, with a link for each Python file."""
    for file in source.rglob("*.py"):
        link = target / file.relative_to(source)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)


def main() -> int:
    shutil.rmtree(LAYOUT, ignore_errors=True)
    link_tree(ROOT / "toolchain", LAYOUT / "jxc")
    link_tree(ROOT / "passes", LAYOUT / "jxc" / "passes")
    for name in SCRIPTS:
        link_tree(ROOT / "scripts" / name, LAYOUT / "scripts" / name)
    config = ROOT / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", str(config)]
    packages = ["jxc", *(f"scripts.{name}" for name in SCRIPTS)]
    command += [word for name in packages for word in ("-p", name)]
    command += sys.argv[1:]
    return subprocess.run(command, cwd=LAYOUT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
