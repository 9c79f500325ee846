"""Turns `JXC_PIPELINE=O2` in the environment into `jxc.enable("O2")`.

JAX imports this module through the entry-point group `jax_plugins` when it sets up its backends,
also in programs that do not import jxc. So it imports nothing if the variable is not set. It also
lets child processes of `jxc explain` write what they compile (`children`).
"""

from __future__ import annotations

import os
import sys


def initialize() -> None:
    """Apply JXC_PIPELINE, if it is set. JAX calls this once, before the first compilation."""
    if "jxc.backend.rewriting" in sys.modules:  # jxc.jit, use or enable came before this job began
        sys.modules["jxc.backend.job"].announce()
    if "_JXC_CHILDREN" in os.environ:  # started by a program that `jxc explain` runs
        from .children import write_compilations

        write_compilations()
    pipeline = os.environ.get("JXC_PIPELINE")
    if not pipeline:
        return
    import warnings

    try:
        from .hook import set_process_default

        set_process_default(pipeline, strict=os.environ.get("JXC_STRICT", "0") not in ("", "0"))
    except Exception as error:  # a bug of jxc must not end the user's program
        message = f"JXC_PIPELINE={pipeline!r} has no effect: {error}"
        warnings.warn(message, stacklevel=2)
