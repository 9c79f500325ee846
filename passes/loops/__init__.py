"""Rewrite loops that JAX makes of `scan`, `fori_loop` and their gradients: work moves out of them.

A `stablehlo.while` counts here if its number of iterations is a constant.
"""
