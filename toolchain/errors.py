"""What a user did, or meets, that jxc can name: one class, and the exit code it ends with."""

from __future__ import annotations


class JxcError(Exception):
    """A failure with a sentence for the user: what was expected, found, where, and what to do.

    The command line prints the sentence and its notes without a traceback and exits with
    `exit_code`: 1, the work failed.
    """

    exit_code = 1


class UsageError(JxcError):
    """The request itself cannot be understood: an unknown name, a bad option (exit code 2)."""

    exit_code = 2


class MissingTargetError(JxcError):
    """A target or plugin that this machine does not have (exit code 3)."""

    exit_code = 3


def did_you_mean(name: str, candidates: list[str]) -> str:
    """A sentence that offers the candidates closest to `name`, or an empty string."""
    import difflib

    close = difflib.get_close_matches(name, sorted(set(candidates)), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
