"""Unroll loops with small bodies, whose time is that of kernel launches and not of their work.

`unroll-loop` lets an iteration do the work of two or four. XLA then fuses ops of adjacent
iterations and launches fewer kernels. The pass must run after those that move work out of loops:
they do not recognize an unrolled loop. The results are bit for bit the same.
"""
