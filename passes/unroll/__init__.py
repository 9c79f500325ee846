"""Unroll loops of small bodies, where launches and not the work of the body take the time.

`unroll-loop` lets an iteration do the work of two or four. XLA then fuses ops of neighbouring
iterations and launches fewer kernels. It is after the passes that move work out of loops: they do
not recognise an unrolled loop. The results are bit for bit the same.
"""
