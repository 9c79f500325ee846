"""Errors that jxc reports in a sentence, each with an exit code, and helpers for their messages."""

from __future__ import annotations

import os
import sys


class JxcError(Exception):
    """A failure with a message for the user: what was expected, found, where, and what to do.

    The command line prints the message and its notes without a traceback and exits with
    `exit_code`: 1, the work failed.
    """

    exit_code = 1


class UsageError(JxcError):
    """The request is invalid: an unknown name, a bad option, a missing file (exit code 2)."""

    exit_code = 2


class MissingTargetError(JxcError):
    """This machine lacks a target, a device or a plugin that the request needs (exit code 3)."""

    exit_code = 3


def did_you_mean(name: str, candidates: list[str]) -> str:
    """A sentence that offers the candidates closest to `name`, or an empty string."""
    import difflib

    close = difflib.get_close_matches(name, sorted(set(candidates)), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""


VARIABLES = [
    "JXC_AGREE_SECONDS",
    "JXC_CACHE_DIR",
    "JXC_CONFIG_DIR",
    "JXC_LOAD_PASS",
    "JXC_PIPELINE",
    "JXC_RATES",
    "JXC_REDUCE",
    "JXC_STRICT",
    "JXC_TUNE_SECONDS",
]
"""The environment variables that jxc reads."""

_WARNED = "_JXC_WARNED"  # set for child processes, which would warn again


def warn_of_unknown_variables() -> None:
    """Warn on stderr of environment variables that begin with JXC_ and that jxc does not read."""
    unknown = sorted(n for n in os.environ if n.startswith("JXC_") and n not in VARIABLES)
    if not unknown or _WARNED in os.environ or sys.stderr is None:
        return
    os.environ[_WARNED] = "1"
    for name in unknown:
        offer = did_you_mean(name, VARIABLES) or f" It reads {', '.join(VARIABLES)}."
        print(f"jxc: warning: jxc does not read the variable {name}.{offer}", file=sys.stderr)
