"""Programs in forks of a process that has imported jxc and JAX: lit starts hundreds of them.

An import takes ten times as long as what most tests run. `started` starts the process, which ends
with the one that started it; `command` is what RUN lines call in place of a program.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import warn_of_unknown_variables
from . import warm_client

_READ_AT_IMPORT = ("JAX_", "PYTHON", "TF_")
"""The beginnings of the variables of the environment that Python and JAX read when they start."""

_running: list[subprocess.Popen[bytes]] = []  # as long as they are referred to


def started(environment: Mapping[str, str]) -> Path:
    """Start the process with an environment; the path of its socket."""
    path = Path(tempfile.mkdtemp(prefix="jxc-warm-")) / "socket"
    code = (
        "import os; given = dict(os.environ); from jxc.testing.warm import serve; "
        f"serve({str(path)!r}, given)"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(1)  # it listens, or it ended: then each program runs in its own process
    _running.append(process)
    return path


def command(path: Path, program: str) -> str:
    """What runs "jxc" or "filecheck" in a fork of the process with this socket, for a shell."""
    return shlex.join([sys.executable, "-I", "-S", warm_client.__file__, str(path), program])


def serve(path: str, given: Mapping[str, str]) -> None:
    """Answer requests of `warm_client` until standard input ends, which the starter holds.

    Args:
        path: of the socket, which is removed at the end with its folder.
        given: the environment before the import of this module.
    """
    programs = {"jxc": _jxc(), "filecheck": importlib.import_module("jxc.testing.filecheck").main}
    own = {key: text for key, text in os.environ.items() if key not in given}
    gc.collect()
    gc.freeze()  # so that a collection in a fork does not copy what was imported
    children: dict[int, socket.socket] = {}  # by process
    ended, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends lit, and so standard input
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler there is no wakeup
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    with socket.socket(socket.AF_UNIX) as listener, select.epoll() as poll:
        listener.bind(path)
        listener.listen(64)
        for file in (0, ended, listener.fileno()):
            poll.register(file, select.EPOLLIN)
        os.write(1, b"\n")
        try:
            while True:
                own_files = (0, ended, listener.fileno())
                events = [file for file, _ in poll.poll()]
                # Clients first: the others close connections, and make some of the same number.
                for file in sorted(events, key=lambda each: each in own_files):
                    if file == 0:
                        return
                    if file == listener.fileno():
                        connection, _ = listener.accept()
                        if (child := os.fork()) == 0:
                            try:
                                for other in (listener, *children.values()):
                                    other.close()
                                _run(connection, programs, given, own)
                            finally:
                                os._exit(1)  # not what follows, which is the server's
                        children[child] = connection
                        poll.register(connection, select.EPOLLRDHUP)
                    elif file == ended:
                        os.read(ended, 4096)
                        for child, code in _ended():
                            connection = children.pop(child)
                            poll.unregister(connection)
                            _answer(connection, code)
                    else:  # the client has ended
                        poll.modify(file, 0)
                        (child,) = [k for k, each in children.items() if each.fileno() == file]
                        os.kill(child, signal.SIGKILL)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
            Path(path).unlink()
            Path(path).parent.rmdir()


def _ended() -> Iterator[tuple[int, int]]:
    """The forks that ended, with their exit codes: minus the signal if one ended it."""
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not child:
            return
        yield child, os.waitstatus_to_exitcode(status)


def _answer(connection: socket.socket, code: int) -> None:
    with connection:
        try:
            connection.sendall(code.to_bytes(8, "little", signed=True))
        except OSError:
            return  # lit ended the program at its time limit


def _jxc() -> Callable[[], Any]:
    """The command line, after what its verbs import."""
    importlib.import_module("jax.numpy")
    package = importlib.import_module("jxc")
    for each in pkgutil.walk_packages(package.__path__, "jxc."):
        if not each.name.endswith("__main__"):
            with suppress(ImportError):  # of packages that are not installed
                importlib.import_module(each.name)
    main: Callable[[], Any] = importlib.import_module("jxc.cli").main
    return main


def _run(
    connection: socket.socket,
    programs: Mapping[str, Callable[[], Any]],
    given: Mapping[str, str],
    own: Mapping[str, str],
) -> None:
    """Run what is asked for, in this process, and end it.

    Args:
        connection: to the client.
        programs: by name.
        given: the environment in which jxc and JAX were imported.
        own: what they added to it.
    """
    header, files, _, _ = socket.recv_fds(connection, 8, 3)
    request, size = b"", int.from_bytes(header, "little")
    while len(request) < size:
        part = connection.recv(size - len(request))
        if not part:
            os._exit(1)  # the client has ended
        request += part
    program, arguments, folder, environment = marshal.loads(request)
    if _read_at_import(environment) != _read_at_import(given):
        _answer(connection, warm_client.OTHER_ENVIRONMENT)
        os._exit(0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    _open_streams()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({**own, **environment})
    sys.argv = [program, *arguments]
    warn_of_unknown_variables()
    code = _code_of(programs[program])
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 1
    os._exit(code & 255)


def _open_streams() -> None:
    """Make the standard streams anew: Python asks once whether a file can be sought in."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        errors = "backslashreplace" if number == 2 else "strict"
        is_by_line = number == 2 or (number == 1 and os.isatty(1))
        stream = open(  # noqa: SIM115 - they stay open
            number,
            mode,
            buffering=1 if is_by_line else -1,
            encoding="utf-8",
            errors=errors,
            closefd=False,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _read_at_import(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in environment.items() if key.startswith(_READ_AT_IMPORT)}


def _code_of(program: Callable[[], Any]) -> int:
    """The exit code of a program, as Python's own."""
    try:
        program()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
