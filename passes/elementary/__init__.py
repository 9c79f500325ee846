"""Write sines, arc functions, powers, roots and remainders as formulas of f64.

Pays on CPU, where XLA calls the C library for each element. On two cores, random f32: sine and
cosine 3 to 10 times faster, tangent 6 to 12, asin, acos and atan2 9 to 30, cube root 6, x^1.5 and
its like 5 to 15, other powers 1.5 to 3, remainder 8 to 100, softplus 1.3 to 2, complex exp 2 to 4;
f16 and bf16 alike, computed as f32. Each adds 10 to 100 ms to the compile time. Fewer than 64
elements are left alone, and so is what newer versions of XLA fuse into sums.

Every result is within 0.501 ulps of the true value, complex exp 0.502: less than what XLA's own is
off (sine 0.561, tangent 1.36, acos 2.1, atan2 1.45, power 0.502), which `scripts/ulps.py` measured
on all 2^32 f32. Remainders are exact. Infinities, NaN and signed zeros are as in C; denormals are
flushed, as XLA:CPU does.
"""
