"""The package filecheck as a program, with messages in place of tracebacks, and its recorder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import JxcError, UsageError
from .lit_suite import require_packages


def run_filecheck(arguments: Sequence[str]) -> int:
    """Match standard input, or the file of `--input-file`, against the directives of a file.

    Args:
        arguments: those of FileCheck: the file with the directives, then options.

    Returns:
        The exit code: 0 if all match, 1 if a directive fails, 2 if there is none.

    Raises:
        UsageError: an option is unknown, or a file cannot be read.
        MissingTargetError: the package filecheck is not installed.
    """
    require_packages("filecheck")
    from filecheck.main import main as filecheck

    try:
        filecheck(["filecheck", *arguments])
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except OSError as error:
        raise UsageError(f"filecheck: {error.filename}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        found = f"byte {error.object[error.start]:#x}"
        raise UsageError(f"filecheck: expected texts in UTF-8; found {found}") from None
    except RuntimeError as error:  # how it reports a bad command line
        raise UsageError(f"filecheck: {error}") from None
    return 0


def main() -> None:
    """Run filecheck on the command line of this process."""
    try:
        sys.exit(run_filecheck(sys.argv[1:]))
    except JxcError as error:
        print(f"filecheck: error: {error}".replace("error: filecheck:", "error:"), file=sys.stderr)
        sys.exit(error.exit_code)


def record(folder: str) -> None:
    """Save what filecheck would read in a file of `folder`: its input, and where its checks are."""
    from filecheck.options import parse_argv_options

    options = parse_argv_options(list(sys.argv))
    is_piped = options.input_file == "-"
    text = sys.stdin.read() if is_piped else Path(options.input_file).read_text(encoding="utf-8")
    number = len(os.listdir(folder))
    recorded = {
        "file": os.path.realpath(options.match_filename),
        "prefix": options.check_prefixes[-1],
        "text": text,
    }
    Path(folder, f"{number:04}.json").write_text(json.dumps(recorded))
