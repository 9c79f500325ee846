"""Unroll short loops of integer arithmetic, such as the rounds of JAX's default random numbers.

JAX writes threefry's twenty rounds as a loop of five iterations, whose rotations are carried
constants. Unrolled, the shift amounts are constants and all rounds are one kernel. Only for CPU: 2
to 4 times faster from 256 words on and inside scans; `normal` 1.3 times, `bernoulli` and dropout
2.5 to 8 times.

XLA computes unrolled rounds again in each kernel that reads the numbers: run `materialize` before,
as O2 does. Over several devices, where nothing is stored, such a loop stays. Kernels of under a
hundred words, which XLA now splits among threads, lose 20 us. Loops of floating-point arithmetic
are left alone: most lost (0.3 to 1). The results are bit for bit the same.
"""
