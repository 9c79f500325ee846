"""Reductions over few elements as slices combined, places of the greatest, sums of products.

The first pays on CPU, where XLA runs a reduction over up to eight neighbours in a scalar loop: sums
and maxima of floats 2 to 5 times faster, distances of points in space 3 to 14, normalisation and
softmax over three or four 2 to 3, over eight 1.2; over the leading axis of up to eight rows 10 to
26 on jaxlib 0.10.2, 1 to 2 on 0.12. It takes 0.02 to 0.05 s more to compile, softmax 0.1, the
gradient of a normalisation 0.3, as XLA has such reductions ready. Alternating normalisations of 4x4
matrices gave 0.8 and 2.5. Integers, products and booleans gained nothing: XLA vectorises those.

Argmax and argmin of f32 over 32 elements or more, which XLA runs in a scalar loop that also takes
in what computes the elements: 1.3 to 7 times faster, `categorical` 2.5 to 4, nearest neighbours
among 64 points in space 2 to 6, a Viterbi scan 7. About 0.05 s more to compile.

Sums of a stored matrix times what repeats along its rows, as products of matrices and vectors: 1.3
to 7 times faster from 8,192 elements on, on both versions; the solver of mujoco_mjx 1.4.

Before sums over all coordinates of points, what is computed is stored: 1.1 to 10 times faster.
So it is before gradients of weights, whose operands XLA transposes: training of transformers 1.1.
"""
