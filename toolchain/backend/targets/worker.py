"""The process in which `build` compiles: `python -m jxc.backend.targets.worker FOLDER`.

Its environment is that of the target. No code of the user runs in it, except a pass on HLO.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
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
    start = perf_counter()
    with _replaced_by(folder / OPTIMISED, module):
        executable = _through(
            request["hlo_pass"],
            module,
            target.kind,
            lambda each: _private.compile_for(each, devices, options),
        )
    seconds = perf_counter() - start
    serialised = _private.serialised(executable)
    if serialised is not None:
        (folder / EXECUTABLE).write_bytes(serialised)
    (folder / HLO).write_bytes(_private.hlo_proto(executable))
    return {
        "hlo": _private.hlo_text(executable, request["whole_constants"]),
        "memory": _memory(executable),
        "cost": _cost(executable),
        "seconds": seconds,
    }


def _replaced_by(file: Path, module: Any) -> Any:
    """A context in which XLA generates code from the optimised module in `file`, if it exists."""
    if not file.exists():
        return contextlib.nullcontext()
    from ..artifacts.resume import replaced

    return replaced(module, file.read_bytes())


def _through(hlo_pass: str | None, module: Any, kind: str, compile_: Callable[[Any], Any]) -> Any:
    """The executable of the module, after the user's pass on HLO if there is one."""
    if hlo_pass is None:
        return compile_(module)
    from ...rewrite import PassContext
    from ..artifacts.hlo_pass import compile_through, find_hlo_pass

    return compile_through(find_hlo_pass(hlo_pass), module, PassContext(kind), compile_)


def _memory(executable: Any) -> dict[str, int]:
    stats = executable.get_compiled_memory_stats()
    names = [name for name in dir(stats) if name.endswith("_in_bytes")]
    return {name: int(getattr(stats, name)) for name in names}


def _cost(executable: Any) -> dict[str, float] | None:
    try:
        return dict(executable.cost_analysis())
    except Exception:  # UNIMPLEMENTED, by the GPU's compiler
        return None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
