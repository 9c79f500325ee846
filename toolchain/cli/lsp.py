"""`jxc lsp`: the language server for MLIR, in place of `mlir-lsp-server`."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

import click

from ..distribution import DISTRIBUTION, pip_install
from ..errors import MissingTargetError
from .options import SECONDS
from .process import leave

_LEVELS = {"error": "ERROR", "info": "INFO", "verbose": "DEBUG"}
_DIALECT = "--allow-unregistered-dialect"


@click.command(short_help="Serve MLIR to an editor.")
@click.option(_DIALECT, is_flag=True, help="Accept ops of unregistered dialects.")
@click.option(
    "--time-limit",
    type=SECONDS,
    default=10.0,
    metavar="SECONDS",
    show_default=True,
    help="End MLIR when one module takes longer.",
)
@click.option("--log", type=click.Choice([*_LEVELS]), default="error", help="Log to stderr.")
@click.option("--stdio", is_flag=True, help="Accepted; the server uses stdin and stdout anyway.")
def lsp_command(allow_unregistered_dialect: bool, time_limit: float, log: str, stdio: bool) -> None:
    """Serve diagnostics, hover, definitions, references and symbols of MLIR to an editor.

    The server speaks the Language Server Protocol on stdin and stdout, and takes the place of
    mlir-lsp-server, with the dialects of jaxlib. `jxc-lsp-server` is the same program for editors
    that take a path without arguments, such as VS Code: set mlir.server_path to its path.

    The exit code is 1 if the editor closes the connection without a shutdown request.
    """
    if importlib.util.find_spec("pygls") is None:
        raise MissingTargetError(
            "jxc lsp needs the package pygls, which is not installed: " + pip_install("lsp")
        )
    import logging

    logging.basicConfig(stream=sys.stderr, level=_LEVELS[log], format="%(levelname)s %(message)s")
    if log != "verbose":
        for handler in logging.getLogger().handlers:
            handler.addFilter(_without_traceback)
    from importlib.metadata import version

    from ..tools.lsp.features import make_server

    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # stray output must not mix with the protocol
    server = make_server(
        version(DISTRIBUTION), allow_unregistered=allow_unregistered_dialect, limit_s=time_limit
    )
    try:
        server.serve(sys.stdin.buffer, output)
    finally:
        server.end()
    leave(0 if server.was_shut_down else 1)


def _without_traceback(record: Any) -> bool:
    """Shorten a record of pygls on a malformed message to a line, and let it be logged."""
    lines = record.getMessage().splitlines()
    if record.exc_info:
        lines += [f"{record.exc_info[0].__name__}: {record.exc_info[1]}"]
    if len(lines) > 1:
        last = next(line for line in reversed(lines) if line.strip())
        record.msg, record.args = f"{lines[0]}: {last} (--log verbose prints more)", ()
        record.exc_info = None
    return True


def main() -> None:
    """Run `jxc-lsp-server`, which is `jxc lsp` as a program of its own."""
    from . import main as run

    sys.argv[1:1] = ["lsp"]
    run()
