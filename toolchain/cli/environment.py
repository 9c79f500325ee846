"""What must be set before jax is imported."""

from __future__ import annotations

import os


def leave_out_absent_hardware() -> None:
    """Where no accelerator is here, keep plugins for them from looking for one.

    They would take seconds, complain at length, or take a lock. What the user says stands.
    """
    from ..backend.targets import gpu, tpu

    if not (gpu.is_here() or tpu.is_here()):
        stay_on_cpu()


def stay_on_cpu() -> None:
    """Keep this process to the CPU: what is for other hardware is compiled in others."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
