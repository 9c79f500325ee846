"""The process in which `build` compiles: `python -m jxc.backend.targets.worker FOLDER`.

Its environment is that of the target. No code of the user runs in it, except a pass on HLO.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from ...errors import JxcError
from .build import DUMP, EXECUTABLE, HLO, MODULE, OPTIMISED, REQUEST, RESULT


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
    import jax

    from ...ir import make_context, read_module
    from .. import _private
    from ..from_module import load_libraries
    from . import find_family, find_target

    jax.config.update("jax_enable_compilation_cache", False)
    target = find_target(request["target"])
    devices = find_family(target.name.partition(":")[0]).devices(target, request["devices"])
    module = read_module((folder / MODULE).read_bytes(), make_context(), name=target.name)
    load_libraries(module)
    options = {
        "xla_dump_to": str(folder / DUMP),
        "xla_dump_hlo_as_text": True,
        **request["xla_options"],
    }

    def compile_(each: Any) -> Any:
        return _private.compile_for(each, devices, options)

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

            hlo_pass, context = find_hlo_pass(request["hlo_pass"]), PassContext(target.kind)
            executable = compile_through(hlo_pass, module, context, compile_)
    seconds = perf_counter() - start
    serialised = _private.serialised(executable)
    if serialised is not None:
        (folder / EXECUTABLE).write_bytes(serialised)
    (folder / HLO).write_bytes(_private.hlo_proto(executable))
    stats = executable.get_compiled_memory_stats()
    try:
        cost: dict[str, float] | None = dict(executable.cost_analysis())
    except Exception:  # UNIMPLEMENTED, by the GPU's compiler
        cost = None
    return {
        "hlo": _private.hlo_text(executable, request["whole_constants"]),
        "memory": {n: int(getattr(stats, n)) for n in dir(stats) if n.endswith("_in_bytes")},
        "cost": cost,
        "seconds": seconds,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
