"""Write sines, arc functions, powers, roots and remainders as formulas of f64.

Pays on CPU, where XLA calls the C library for each element. On two cores, random f32: sine and
cosine 3 to 10 times faster, tangent 6 to 12, asin, acos and atan2 9 to 30, cube root 6, x^1.5 and
its like 5 to 15, other powers 1.5 to 5, remainder 8 to 100; f16 and bf16 alike, computed as f32. An
array of fewer than 64 elements is left alone, and so is what newer versions of XLA fuse into sums.

Every result is within 0.501 ulps of the true value, over all f32: less than what XLA's own is off
(sine 0.561, tangent 1.15, acos 2.1, atan2 1.4; `passes/elementary/bounds.json`). Remainders are
exact. Infinities, NaN and signed zeros are as in C; denormals are flushed, as XLA:CPU does.
"""
