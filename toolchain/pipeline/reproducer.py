"""A file that shows a failing pass to whoever must mend it: the module and the command."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from .run import PassError


def write_reproducer(module_text: str, error: PassError, path: Path | None = None) -> Path:
    """Write the module as it was before the pipeline, under the command that fails on it.

    Args:
        module_text: the module's text.
        error: what happened.
        path: where to; a new file in the temporary directory when None.

    Returns:
        The file written.
    """
    from importlib.metadata import version  # 20 ms, on failure only

    if path is None:
        directory = Path(tempfile.gettempdir())
        number = next(n for n in range(10**6) if not _candidate(directory, n).exists())
        path = _candidate(directory, number)
    files = [f"--load-pass={file}" for file in error.prefix.library.files]
    pipeline = f"--pass-pipeline={error.prefix}"
    command = shlex.join(["jxc", "opt", *files, pipeline, str(path)])
    first_line = str(error).splitlines()[0]
    header = [command, first_line, f"jxc {version('jxc')}, jaxlib {version('jaxlib')}"]
    path.write_text("".join(f"// {line}\n" for line in header) + module_text)
    return path


def _candidate(directory: Path, number: int) -> Path:
    return directory / f"jxc-reproducer-{number}.mlir"
