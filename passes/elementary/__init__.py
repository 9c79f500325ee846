"""Rewrite sines, inverse functions, powers, roots and remainders as formulas of f64.

Only for CPU, where XLA calls the C library for each element. On two cores with random f32: sine and
cosine 3 to 10 times faster, tangent 6 to 12, asin, acos and atan2 9 to 30, cube root 6, x^1.5 and
the like 5 to 15, other powers 1.5 to 3, remainder 8 to 100, softplus 1.3 to 2, complex exp 2 to 4;
f16 and bf16 are computed as f32. Each op adds 10 to 100 ms to the compile time. Tensors of fewer
than 1024 elements, sines of fewer than 65,536, and ops that newer versions of XLA fuse into sums,
are left alone.

Every result is within 0.501 ulps of the exact value, complex exp within 0.502. XLA's own functions
are less accurate (sine 0.561, tangent 1.36, acos 2.1, atan2 1.45, power 0.502), as
`scripts/ulps.py` measured on all 2^32 f32. Remainders are exact. Infinities, NaN and signed zeros
are as in C; denormals are flushed, as in XLA:CPU.
"""
