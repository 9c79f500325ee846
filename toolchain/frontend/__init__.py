"""From Python to a module: find the function, read its arguments, trace and lower it.

Importing this package imports neither jax nor MLIR: the command line lists these names in its help.
"""

FORMS = ("jaxpr", "stablehlo", "bytecode", "portable", "hlo")
"""What `jxc lower --emit` writes: JAX's jaxpr, the module as text or bytecode, a StableHLO portable
artifact for other versions of StableHLO, or the text of HLO before XLA optimizes it."""

BINARY_FORMS = ("bytecode", "portable")

PLATFORMS = ("cpu", "tpu", "cuda", "rocm")
"""The platforms that JAX lowers for, by its own names."""
