"""Unroll short loops of integer arithmetic, such as the rounds of JAX's default random numbers.

JAX writes threefry's twenty rounds as a loop of five iterations, whose rotations are carried
constants. Unrolled, the shift amounts are constants and all rounds are one kernel. Only for CPU: 2
to 4 times faster from 256 words on and inside scans, and 0.05 to 0.4 s less to compile for each
shape; `normal` 1.3 times, `bernoulli` and dropout 2.5 to 3.5 times.

A loop stays where XLA would recompute the rounds inside their users (a broadcast along rows ran at
0.1, a cumulative sum at 0.4). Kernels of under a hundred words, which XLA now splits among threads,
lose 20 us. Loops of floating-point arithmetic are left alone: most lost (0.3 to 1). The results are
bit for bit the same.
"""
