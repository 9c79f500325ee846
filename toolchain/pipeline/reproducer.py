"""Reproducers: files that hold a module and the pipeline that fails on it.

The command is in the comments of the header. The pipeline is also in a section of resources at the
end, which is MLIR's own form: `jxc opt --run-reproducer` reads it, and so does mlir-opt where all
passes are native.
"""

from __future__ import annotations

import shlex
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ..distribution import DISTRIBUTION

if TYPE_CHECKING:
    from .run import PassError


def write_reproducer(module_text: str, error: PassError, path: Path | None = None) -> Path:
    """Write a file that shows a failing pass: the command, and the module before the pipeline.

    Args:
        module_text: the module's text before the pipeline.
        error: the failure.
        path: the file to write; a new one in the temporary directory when None.

    Returns:
        The file written.
    """
    from importlib.metadata import version  # 20 ms, on failure only

    if path is None:
        path = _new_file(Path(tempfile.gettempdir()))
    pipeline, reason = error.prefix, str(error).splitlines()[0]
    files = [f"--load-pass={file}" for file in pipeline.library.files]
    command = shlex.join(["jxc", "opt", *files, f"--pass-pipeline={pipeline}", str(path)])
    header = [command, reason, f"jxc {version(DISTRIBUTION)}, jaxlib {version('jaxlib')}"]
    comments = "".join(f"// {line}\n" for line in header)
    path.write_text(f"{comments}{module_text}{_section(str(pipeline))}", encoding="utf-8")
    return path


def _new_file(directory: Path) -> Path:
    """A new empty file that only this user can read: modules hold captured constants.

    Other users may write to the directory. A link that they made is not followed.
    """
    for number in count():
        path = directory / f"jxc-reproducer-{number}.mlir"
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            continue
        break
    return path


def _section(pipeline: str) -> str:
    quoted = pipeline.replace("\\", "\\\\").replace('"', '\\"')
    return f"""
{{-#
  external_resources: {{
    mlir_reproducer: {{
      pipeline: "{quoted}",
      disable_threading: true,
      verify_each: true
    }}
  }}
#-}}
"""
