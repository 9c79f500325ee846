"""What JAX imports when it sets up its backends: turns `JXC_PIPELINE=O2` into `jxc.enable("O2")`.

JAX finds this through the entry-point group `jax_plugins`, in programs that never heard of jxc.
"""

from __future__ import annotations

import os


def initialize() -> None:
    """Called by JAX once, before the first compilation. Does nothing unless JXC_PIPELINE is set."""
    pipeline = os.environ.get("JXC_PIPELINE")
    if not pipeline:
        return
    import warnings

    try:
        from .hook import set_process_default

        set_process_default(pipeline, strict=os.environ.get("JXC_STRICT", "0") not in ("", "0"))
    except Exception as error:  # whatever it is, the program is not ours to stop
        message = f"JXC_PIPELINE={pipeline!r} has no effect: {error}"
        warnings.warn(message, stacklevel=2)
