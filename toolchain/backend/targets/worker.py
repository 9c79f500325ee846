"""The process in which `build` compiles: `python -m jxc.backend.targets.worker FOLDER`.

Its environment is that of the target. No code of the user runs in it, except a pass on HLO.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from ...errors import JxcError
from .build import DUMP, EXECUTABLE, HLO, MODULE, OPTIMISED, REQUEST, RESULT, text_of

_NO_TILES, _TRITON = "Couldn't find output tile sizes", "xla_gpu_enable_triton_gemm"
_WITHOUT_TRITON = (
    "compiled without Triton's matrix products: XLA found no tile sizes for one of them. Where the "
    "GPU is present, it measures which are best"
)
_GENERATED = "*.after_codegen.txt"  # with the compiler's estimates


def main(folder: Path) -> None:
    """Compile the module in `folder`, and write the result there."""
    request = json.loads((folder / REQUEST).read_text())
    try:
        result = _compiled(folder, request)
    except JxcError as error:
        result = {"refused": str(error)}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    (folder / RESULT).write_text(json.dumps(result))


def _compiled(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    from ...ir import make_context, read_module
    from .. import _private
    from ..from_module import load_libraries
    from . import find_family, find_target

    target = find_target(request["target"])
    devices = find_family(target.name.partition(":")[0]).devices(target, request["devices"])
    devices, order = _in_order_of(request["mesh"], devices)
    module = read_module((folder / MODULE).read_bytes(), make_context(), name=target.name)
    load_libraries(module)
    options = {
        "xla_dump_to": str(folder / DUMP),
        "xla_dump_hlo_as_text": True,
        **request["xla_options"],
    }

    note = ""

    def compile_(each: Any) -> Any:
        nonlocal note
        try:
            return _private.compile_for(each, devices, options)
        except Exception as error:
            if _NO_TILES not in str(error):
                raise
        note = _WITHOUT_TRITON
        return _private.compile_for(each, devices, {**options, _TRITON: False})

    start = perf_counter()
    with contextlib.ExitStack() as stack:
        if (folder / OPTIMISED).exists():
            from ..artifacts.resume import replaced

            stack.enter_context(replaced(module, (folder / OPTIMISED).read_bytes()))
        if request["hlo_pass"] is None:
            executable = compile_(module)
        else:
            from ...rewrite import PassContext
            from ..artifacts.hlo_pass import compile_through, find_hlo_pass

            hlo_pass = find_hlo_pass(request["hlo_pass"])
            context = PassContext(target.kind, device=target.device)
            executable = compile_through(hlo_pass, module, context, compile_)
    seconds = perf_counter() - start
    serialised = _private.serialised(executable)
    if serialised is not None:
        (folder / EXECUTABLE).write_bytes(serialised)
    try:
        (folder / HLO).write_bytes(_private.hlo_proto(executable))
        hlo = _private.hlo_text(executable, request["whole_constants"])
    except Exception:  # jaxlib does not read what a newer libtpu writes
        hlo = text_of(folder / DUMP, _GENERATED)
        if not hlo:
            raise
    stats = executable.get_compiled_memory_stats()
    try:
        cost: dict[str, float] | None = dict(executable.cost_analysis())
    except Exception:  # UNIMPLEMENTED, by the GPU's compiler
        cost = None
    return {
        "hlo": hlo,
        "memory": {n: int(getattr(stats, n)) for n in dir(stats) if n.endswith("_in_bytes")},
        "cost": cost,
        "seconds": seconds,
        "places": list(map(_place, devices)),
        "order": order,
        "note": note,
        "orders": _orders(request["other_meshes"], devices),
    }


def _in_order_of(mesh: Mapping[str, int], devices: Sequence[Any]) -> tuple[Sequence[Any], str]:
    """The devices in the order in which `jax.make_mesh` puts them, and a note on that order."""
    import jax
    from jax.experimental import mesh_utils

    if len(mesh) == 0 or math.prod(mesh.values()) != len(devices):
        return devices, ""
    sizes = tuple(mesh.values())
    try:
        return list(jax.make_mesh(sizes, tuple(mesh), devices=devices).devices.flat), ""
    except NotImplementedError:
        split = mesh_utils.create_device_mesh(sizes, devices, allow_split_physical_axes=True)
        return list(split.flat), (
            "jax.make_mesh does not lay this mesh on the topology, since no product of its extents "
            "is the size of each axis; mesh_utils.create_device_mesh(..., "
            "allow_split_physical_axes=True) does"
        )


def _orders(meshes: Sequence[Mapping[str, int]], devices: Sequence[Any]) -> dict[str, list[int]]:
    """For each mesh, as text, the numbers of TPU devices in its order."""
    from ...ir.shardings import format_mesh

    if devices[0].platform != "tpu":
        return {}
    numbers = {device.id: number for number, device in enumerate(devices)}
    return {
        format_mesh(mesh): [numbers[each.id] for each in _in_order_of(mesh, devices)[0]]
        for mesh in meshes
    }


def _place(device: Any) -> list[int] | None:
    """The slice, the coordinates and the core of a TPU device; None for other devices."""
    if device.platform != "tpu":
        return None
    return [getattr(device, "slice_index", None) or 0, *device.coords, device.core_on_chip]


def _end_with(parent: int, folder: Path) -> None:
    """End this process with its parent, which holds the other end of a pipe, and remove its files.

    Without this, a compiler goes on for minutes after a `kill` or `timeout` of its parent.
    """
    os.read(parent, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    given, pipe = Path(sys.argv[1]), os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # `input()` in a pass on HLO does not wait for it
    threading.Thread(target=_end_with, args=(pipe, given), daemon=True).start()
    main(given)
