"""Private names of jax, checked on jax 0.10.2 and 0.12."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

_GPU = "NVIDIA H100 80GB HBM3"
"""A device kind as JAX names it. Kernels of Triton are lowered alike for all of NVIDIA's."""


def on_abstract_device(target: str) -> AbstractContextManager[Any]:
    """A context in which Pallas lowers for `target` where none is present.

    On a machine without a GPU, jax 0.12 lowers kernels of Triton only under a mesh that names the
    device. An empty abstract mesh does so, and says nothing about sharding.
    """
    import jax

    if target != "gpu" or _has_gpu():
        return nullcontext()
    from jax._src.mesh import AbstractDevice

    device = AbstractDevice(_GPU, None, "gpu") if _takes_platform(AbstractDevice) else None
    if device is None:
        return nullcontext()
    mesh = jax.sharding.AbstractMesh((), (), abstract_device=device)
    context: AbstractContextManager[Any] = jax.sharding.use_abstract_mesh(mesh)
    return context


def _has_gpu() -> bool:
    import jax

    return any(device.platform == "gpu" for device in jax.local_devices())


def _takes_platform(kind: Any) -> bool:
    import inspect

    return len(inspect.signature(kind).parameters) >= 3


@contextmanager
def interpreted_pallas() -> Iterator[None]:
    """A context in which calls of Pallas are traced in interpret mode, whatever they say."""
    from jax._src.pallas.pallas_call import pallas_call_p

    original = pallas_call_p.bind

    def bind(*args: Any, **params: Any) -> Any:
        return original(*args, **{**params, "interpret": True})

    pallas_call_p.bind = bind
    try:
        yield
    finally:
        del pallas_call_p.bind
