"""Valid inputs to corrupt: lit files, random programs and programs lowered by JAX."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

LIT_TESTS = Path(__file__).parent.parent.parent / "lit_tests"
_DEADLY = {
    LIT_TESTS / "opt/Inputs/crashes_mlir.mlir"
}  # nearly all mutants of a crashing input crash, too
_RANDOM = 24


def sources(seed: int) -> list[tuple[str, bytes]]:
    """Names and contents of inputs. Call it in a separate process: it loads MLIR and JAX."""
    os.dup2(
        os.open(os.devnull, os.O_WRONLY), 2
    )  # MLIR prints errors for ops without a portable form
    found = [*_from_lit_tests(), *_lowered()]
    for number in range(_RANDOM):
        found += _random_program(f"{seed}/{number}")
    return found


def _from_lit_tests() -> list[tuple[str, bytes]]:
    found = []
    for path in sorted(set(LIT_TESTS.rglob("*.mlir")) - _DEADLY):
        pieces = re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)
        for number, piece in enumerate(pieces):
            code = "\n".join(x for x in piece.splitlines() if x.strip() and not x.startswith("//"))
            if code:
                found.append((f"{path.relative_to(LIT_TESTS)}:{number}", code.encode()))
    others = [path for form in ("*.hlo", "*.bc") for path in sorted(LIT_TESTS.rglob(form))]
    return found + [(str(path.relative_to(LIT_TESTS)), path.read_bytes()) for path in others]


def _random_program(seed: str) -> list[tuple[str, bytes]]:
    """A program as text, as bytecode and, if possible, as a portable artifact."""
    from jxc.errors import JxcError
    from jxc.ir import make_context, read_module, write_bytecode, write_portable, write_text

    from .program import random_program

    module = read_module(random_program(seed, 30), make_context())
    forms = [("text", write_text(module).encode()), ("bytecode", write_bytecode(module))]
    with contextlib.suppress(JxcError):  # an op or type without a portable form
        forms.append(("portable", write_portable(module)))
    return [(f"random {seed} as {form}", data) for form, data in forms]


def _lowered() -> list[tuple[str, bytes]]:
    """Typical JAX programs, and an exported function."""
    import jax
    import jax.numpy as jnp

    x = jax.ShapeDtypeStruct((4, 8), jnp.float32)
    functions = {
        "softmax": lambda x: jax.nn.softmax(x),
        "scan": lambda x: jax.lax.scan(lambda c, a: (jnp.tanh(c + a), c), x[0], x),
        "sort": lambda x: jnp.sort(x)[x.argmax(1)],
        "random": lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
    }
    found = []
    for name, function in functions.items():
        jitted = jax.jit(function)
        found.append((f"jax {name}", jitted.lower(x).as_text().encode()))
        found.append(
            (f"jax {name} with locations", jitted.lower(x).as_text(debug_info=True).encode())
        )
    exported = jax.export.export(jax.jit(functions["softmax"]))(x)
    found.append(("jax exported", bytes(exported.mlir_module_serialized)))
    found.append(("jax as HLO", jax.jit(functions["sort"]).lower(x).as_text("hlo").encode()))
    return found
