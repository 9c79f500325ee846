"""The files of benchmarks/ import each other as scripts do: by their folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent / "benchmarks"))
