"""Run mypy on jxc in its installed layout: `toolchain/` as `jxc`, `passes/` as `jxc.passes`.

Type checkers resolve imports by folder names, which differ from jxc's import names. The script
therefore creates a folder of links with the installed layout. Arguments are passed on to mypy.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHAPE = ROOT / "build" / "types" / "jxc"


def link_tree(source: Path, target: Path) -> None:
    """Recreate the folders of `source` under `target`, with a link for each Python file."""
    for file in source.rglob("*.py"):
        link = target / file.relative_to(source)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)


def main() -> int:
    shutil.rmtree(SHAPE.parent, ignore_errors=True)
    link_tree(ROOT / "toolchain", SHAPE)
    link_tree(ROOT / "passes", SHAPE / "passes")
    config = ROOT / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "-p", "jxc"]
    command += sys.argv[1:]
    return subprocess.run(command, cwd=SHAPE.parent, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
