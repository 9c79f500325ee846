"""Write running sums and the like as loops, in which each element goes on from the one before.

Pays on CPU, where XLA computes each element from a window of 16 or 32, on several levels:
`cumsum`, `cumprod`, `cummax` and `cummin` 1.5 to 3 times faster along the last dimension of up to
about 2000 rows, 4 to 25 times along any other, `cumlogsumexp` 6 to 200 times; a loop takes 0 to
0.1 s more to compile, and several 0.1 to 0.3 s, where the elements are so few or so far apart that
blocks of them are taken at once. NaN and infinities reach what follows them and nothing else, which
a product with a triangular matrix, 1.5 to 3 times faster than XLA, would not give. 16-bit floats
are summed in f32. `jax.lax.associative_scan`, which JAX spells out, is left alone.
"""
