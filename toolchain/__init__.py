"""jxc: the middle of JAX's compiler, open from Python.

    low = jxc.lower(fn, *args)          # a Python function becomes a StableHLO module
    opt = low.opt("O2")                 # passes in Python, and MLIR's own, rewrite it
    exe = opt.compile()                 # XLA compiles it; exe(*args) takes the user's pytrees
    fast = jxc.jit(fn, pipeline="O2")   # or all of it at once, in place of jax.jit

Importing this package imports neither jax nor MLIR; each name below does so on first use.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from .distribution import DISTRIBUTION as DISTRIBUTION, refuse_another_project
from .errors import warn_of_unknown_variables

if TYPE_CHECKING:
    from . import ir as ir
    from .backend.artifacts.loading import LoadedProgram, load
    from .backend.artifacts.saving import save
    from .backend.hook import disable, enable, use
    from .backend.jit import jit
    from .backend.lowered import CrossExecutable, Executable, Lowered, lower
    from .check.verify import verify
    from .errors import JxcError
    from .patterns.replacement import replacement
    from .pipeline.run import opt
    from .rewrite import (
        PassContext,
        approximates,
        equation,
        exact,
        module_pass,
        no_match,
        reassociates,
        rule,
    )
    from .tools.bucket.bucket import bucket
    from .tools.debug.finding import NanError
    from .tools.debug.locate import locate_nans
    from .tools.diff.functions import diff
    from .tools.doctor import doctor
    from .tools.explain.log import assert_compiles, explain
    from .tools.fit.fit import fit
    from .tools.report.report import Report, report

refuse_another_project(os.path.dirname(__file__))
warn_of_unknown_variables()

# As jax itself does on import; we may load jaxlib first, which would log every client it makes.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

__all__ = [
    "CrossExecutable",
    "Executable",
    "JxcError",
    "LoadedProgram",
    "Lowered",
    "NanError",
    "PassContext",
    "Report",
    "approximates",
    "assert_compiles",
    "bucket",
    "diff",
    "disable",
    "doctor",
    "enable",
    "equation",
    "exact",
    "explain",
    "fit",
    "ir",
    "jit",
    "load",
    "locate_nans",
    "lower",
    "module_pass",
    "no_match",
    "opt",
    "reassociates",
    "replacement",
    "report",
    "rule",
    "save",
    "use",
    "verify",
]

_NAMES = {
    "backend.artifacts.loading": ("LoadedProgram", "load"),
    "backend.artifacts.saving": ("save",),
    "backend.hook": ("disable", "enable", "use"),
    "backend.jit": ("jit",),
    "backend.lowered": ("CrossExecutable", "Executable", "Lowered", "lower"),
    "check.verify": ("verify",),
    "errors": ("JxcError",),
    "patterns.replacement": ("replacement",),
    "pipeline.run": ("opt",),
    "rewrite": (
        *("PassContext", "approximates", "equation", "exact", "module_pass", "no_match"),
        *("reassociates", "rule"),
    ),
    "tools.bucket.bucket": ("bucket",),
    "tools.debug.finding": ("NanError",),
    "tools.debug.locate": ("locate_nans",),
    "tools.diff.functions": ("diff",),
    "tools.doctor": ("doctor",),
    "tools.explain.log": ("assert_compiles", "explain"),
    "tools.fit.fit": ("fit",),
    "notebook": ("load_ipython_extension", "unload_ipython_extension"),  # for %load_ext jxc
    "tools.report.report": ("Report", "report"),
}
"""The public names by the module that defines them."""

_HOME = {name: module for module, names in _NAMES.items() for name in names}


if not TYPE_CHECKING:  # so that type checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        if name == "Facts":
            from .rewrite import PassContext
            from .rewrite.former_names import warn_renamed

            warn_renamed("jxc.Facts", "jxc.PassContext")
            return PassContext
        if name == "ir":
            return importlib.import_module(".ir", __name__)
        if name not in _HOME:
            own = sys.modules[__name__]  # from which Python offers a similar name
            raise AttributeError(f"module 'jxc' has no attribute {name!r}", name=name, obj=own)
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
