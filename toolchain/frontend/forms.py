"""The names that a command line may use: forms to print, platforms to lower for."""

from __future__ import annotations

FORMS = ("jaxpr", "stablehlo", "bytecode", "portable", "hlo")
"""jaxpr: JAX's own; stablehlo: MLIR text; bytecode: the same, binary; portable: a StableHLO
artifact for other versions of it; hlo: XLA's text, before XLA optimises."""

BINARY_FORMS = ("bytecode", "portable")

PLATFORMS = ("cpu", "tpu", "cuda", "rocm")
