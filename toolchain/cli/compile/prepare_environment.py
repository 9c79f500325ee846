"""What must be set before jax is imported."""

from __future__ import annotations

import os
from typing import Any


def prepare_environment(flags: dict[str, Any], targets: list[Any]) -> None:
    """Keep this process to what it needs: absent hardware is compiled for in others.

    A plugin for hardware that is not here would look for it for seconds, complain, or take a lock.
    """
    os.environ.pop("JXC_PIPELINE", None)  # what is compiled here is what is asked for here
    if not any(target.is_present and target.kind != "cpu" for target in targets):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
