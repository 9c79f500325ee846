"""Rewrite products, Cholesky factors and triangular systems of small matrices as elementwise ops.

For CPU, where each matrix of a batch costs a library call: 470 ns for a product of 4 to 7 terms, 40
to 200 ns for a Cholesky factor or a triangular system. Large batches of tiny products also on TPU.
Speed against XLA on CPU: products 4 to 60 times faster, alone, in chains, in scans and in
gradients; other short products 1.1 to 10 times; Cholesky factors and triangular systems up to 6x6
1.7 to 10 times, in loops one matrix is enough (Kalman filters 1.2 to 4 times). A tall matrix of 2
to 4 columns times a small one gains 1.2 to 26, X^T y 2 to 15 by reading X row by row. Each distinct
shape takes 20 to 100 ms more to compile, a factor of 6x6 300 ms. f32 and f64; sums change their
order.

Sums start from 0.0, as in StableHLO. A singular triangular matrix gives infinities or NaNs in the
rows from its first zero pivot on; which of the two is unspecified, as in BLAS.
"""
