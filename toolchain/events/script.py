"""Running a user's program in this process, as `python SCRIPT ARGS...` would run it.

The program must not be able to tell the difference: `__main__`, `sys.argv` and `sys.path`, its exit
code, its traceback, its threads, its atexit functions and Ctrl-C behave as under Python. Nothing
here imports jax, so that the program can set environment variables before it does;
`when_imported` tells when to start recording.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib.util
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from ..errors import UsageError


class UserProgram:
    """A script or a module, ready to run as `__main__`.

    Args:
        name: a file, a folder with a `__main__.py`, or with `is_module` the name of a module.
        args: the program's arguments.
        is_module: whether to run it as `python -m` does.

    Attributes:
        file: the path of the program. That of a module is a guess until it runs, since the packages
            around it, which are imported then, can change where it is found.

    Raises:
        UsageError: there is no such program.
    """

    def __init__(self, name: str, args: Sequence[str], *, is_module: bool) -> None:
        self._name, self._args, self._is_module = name, args, is_module
        self._spec: ModuleSpec | None = None
        if is_module:
            sys.path[0] = os.getcwd()  # where `python -m` looks first
            self.file = _likely_file(name)
        else:
            self.file = _script_file(name)

    def run(self) -> int:
        """Run the program and its threads to their end, and return the exit code of Python.

        An exception is printed as Python prints it. After Ctrl-C, the process ends by the signal,
        after everything else, as Python does: the loop of a shell ends only then.

        Raises:
            UsageError: the packages around a module were imported, and it is not in them.
        """
        main = ModuleType("__main__")
        sys.modules["__main__"] = main
        atexit.register(self._end_by_signal)  # registered first, called last
        try:
            self._prepare(main)
            exec(self._code(), main.__dict__)
            code = 0
        except _MissingModuleError:
            raise
        except SystemExit as ended:
            code = _exit_code(ended)
        except KeyboardInterrupt as error:
            self._is_interrupted = True
            _print_traceback(error)
            code = 130
        except BaseException as error:
            self.error = error
            _print_traceback(error)
            code = 1
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        return code

    error: BaseException | None = None
    """The exception that ended the program; None if it ended normally, or by Ctrl-C."""

    _is_interrupted = False

    def _end_by_signal(self) -> None:
        if self._is_interrupted and os.name == "posix":
            flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)

    def _prepare(self, main: ModuleType) -> None:
        if self._is_module:
            sys.argv = ["-m", *self._args]  # what the packages of the module find
            self._spec = _module_spec(self._name)
            self.file = self._spec.origin or ""
        main.__dict__.update(
            __file__=self.file,
            __builtins__=builtins,
            __spec__=self._spec,
            __package__=self._spec.parent if self._spec else None,
            __loader__=self._spec.loader if self._spec else SourceFileLoader("__main__", self.file),
        )
        sys.argv = [self.file if self._is_module else self._name, *self._args]
        if not self._is_module:
            is_folder = os.path.isdir(self._name)  # then modules are looked up in it
            folder = self._name if is_folder else os.path.dirname(os.path.realpath(self.file))
            sys.path[0] = os.path.abspath(folder)

    def _code(self) -> CodeType:
        if self._spec is not None:
            code: CodeType = self._spec.loader.get_code(self._spec.name)  # type: ignore[union-attr]
            return code
        with io.open_code(self.file) as file:
            return compile(file.read(), self.file, "exec", dont_inherit=True)


def _script_file(name: str) -> str:
    path = Path(name)
    file = path / "__main__.py" if path.is_dir() else path
    if not file.is_file():
        found = "a folder without __main__.py" if path.is_dir() else "no such file"
        raise UsageError(f"{name}: expected a Python program, found {found}")
    return os.path.abspath(file)


class _MissingModuleError(UsageError):
    """There is no module of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"-m {name or repr(name)}: expected a module that Python can run, found none"
        )


def _likely_file(name: str) -> str:
    """The file of a module, or of the innermost package that can be found without importing any.

    Raises:
        UsageError: the name is none of a module, or there is no package of this name.
    """
    first, *others = name.split(".")
    spec = _spec_of(first) if all((first, *others)) else None
    if spec is None:
        raise _MissingModuleError(name)
    found = first
    for part in (*others, "__main__"):
        found = f"{found}.{part}"
        inner = _spec_in(spec.submodule_search_locations, found)
        if inner is None:
            break
        spec = inner
    return spec.origin or ""


def _spec_in(folders: Sequence[str] | None, name: str) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(name, folders) if folders else None
    except KeyError:  # a namespace package in another one, which is not imported yet
        return None


def _module_spec(name: str) -> ModuleSpec:
    """Where a module is, after the import of the packages around it, as by `python -m`.

    Raises:
        UsageError: there is none that can be run.
        BaseException: raised by the code of a package.
    """
    spec = _spec_after_import(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec_after_import(f"{name}.__main__")
    if spec is None or not hasattr(spec.loader, "get_code"):
        raise _MissingModuleError(name)
    return spec


def _spec_after_import(name: str) -> ModuleSpec | None:
    package = name.rpartition(".")[0]
    try:
        if package:
            __import__(package)  # importlib.import_module would add its frames to a traceback
    except ModuleNotFoundError as error:
        if error.name and f"{package}.".startswith(f"{error.name}."):
            return None
        raise  # a package imports another module that is missing
    return _spec_of(name)


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError):  # as in Python's runpy
        return None


def _exit_code(ended: SystemExit) -> int:
    """The exit code of Python: 0 for None, a number itself; anything else is printed, and 1."""
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    flush()
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # a closed pipe, or a closed stream
            print(ended.code, file=sys.stderr)
    return 1


def _print_traceback(error: BaseException) -> None:
    """Print an exception as Python does, without the frames of jxc."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    error.__traceback__ = trace
    flush()
    try:
        sys.excepthook(type(error), error, trace)
    except Exception:  # raised by the program's own hook
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exc()


def flush() -> None:
    """Flush the standard streams, as Python does when a program ends."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):  # a closed pipe, or a closed stream
                stream.flush()


class _ImportWatcher(MetaPathFinder):
    """Finds one module like the other finders, and calls a function once it is imported."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then
        self._is_looking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self._name or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_looking = False
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            plain = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module  # the class's own method is visible again
                self.end()  # only now: a program may look for a spec first
                plain(module)
                self._then()

            loader.exec_module = exec_module
        return spec

    def end(self) -> None:
        """Stop finding the module."""
        with contextlib.suppress(ValueError):  # ended before
            sys.meta_path.remove(self)


@contextlib.contextmanager
def when_imported(name: str, then: Callable[[], None]) -> Iterator[None]:
    """Call `then` when the module is imported in the block; at once if it already is."""
    if name in sys.modules:
        then()
        yield
        return
    watcher = _ImportWatcher(name, then)
    sys.meta_path.insert(0, watcher)
    try:
        yield
    finally:
        watcher.end()
