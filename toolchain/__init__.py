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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis.doctor import doctor
    from .analysis.recompiles.log import assert_compiles, explain
    from .analysis.report import Report, report
    from .backend.bucket.bucket import bucket
    from .backend.hook import enable, use
    from .backend.instruments.finding import NanError
    from .backend.instruments.locate import locate_nans
    from .backend.jit import jit
    from .backend.lowered import CrossExecutable, Executable, Lowered, lower
    from .check.verify import verify
    from .errors import JxcError
    from .pipeline.run import opt
    from .rewrite import Facts, approximates, exact, module_pass, reassociates, rule

# As jax itself does on import; we may load jaxlib first, which would log every client it makes.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

__all__ = [
    "CrossExecutable",
    "Executable",
    "Facts",
    "JxcError",
    "Lowered",
    "NanError",
    "Report",
    "approximates",
    "assert_compiles",
    "bucket",
    "doctor",
    "enable",
    "exact",
    "explain",
    "jit",
    "locate_nans",
    "lower",
    "module_pass",
    "opt",
    "reassociates",
    "report",
    "rule",
    "use",
    "verify",
]

_HOME = {
    "CrossExecutable": "backend.lowered",
    "Executable": "backend.lowered",
    "Facts": "rewrite",
    "JxcError": "errors",
    "Lowered": "backend.lowered",
    "NanError": "backend.instruments.finding",
    "Report": "analysis.report",
    "approximates": "rewrite",
    "assert_compiles": "analysis.recompiles.log",
    "bucket": "backend.bucket.bucket",
    "doctor": "analysis.doctor",
    "enable": "backend.hook",
    "exact": "rewrite",
    "explain": "analysis.recompiles.log",
    "jit": "backend.jit",
    "locate_nans": "backend.instruments.locate",
    "lower": "backend.lowered",
    "module_pass": "rewrite",
    "opt": "pipeline.run",
    "reassociates": "rewrite",
    "report": "analysis.report",
    "rule": "rewrite",
    "use": "backend.hook",
    "verify": "check.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jxc' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
