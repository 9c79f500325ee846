"""What XLA writes about a compilation: read from its dump directory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from ..errors import JxcError
from .lowered import Lowered


def llvm_ir(lowered: Lowered, xla_options: Mapping[str, Any]) -> str:
    """The LLVM IR of every kernel that XLA:CPU made of a program, after LLVM's passes.

    Nothing is dumped on a hit in JAX's persistent cache: switch it off before JAX is imported.

    Raises:
        JxcError: XLA wrote none: the program has no kernel of its own, only library calls.
    """
    with tempfile.TemporaryDirectory() as directory:
        options = {**xla_options, "xla_dump_to": directory, "xla_dump_hlo_as_text": True}
        if jax.__version_info__ >= (0, 11):  # the newer line dumps emitters' output only by name
            options["xla_dump_emitter_re"] = ".*"
        lowered.compile(xla_options=options)
        files = sorted(Path(directory).glob("*.ir-with-opt.ll"))
        texts = [f"; {_kernel(file)}\n{file.read_text()}" for file in files]
    if not texts:
        raise JxcError("XLA made no kernel of its own for this program: it is library calls alone")
    return "\n".join(texts)


def _kernel(file: Path) -> str:
    return file.name.removesuffix(".ir-with-opt.ll").split(".", 2)[-1]
