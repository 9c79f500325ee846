"""Analyses of a compiled program: kernels, dataflow, memory, collectives."""
