"""Reductions over few elements as slices combined.

Pays on CPU, where XLA runs a reduction over up to eight neighbours in a scalar loop: sums and
maxima of floats 2 to 5 times faster, 3 to 12 from 400,000 on, distances of points in space 5 to 14,
normalisation and softmax over three or four 2 to 3, over eight 1.2; over the leading axis of up to
eight rows 10 to 26. About 0.05 s more to compile for each. Alternating normalisations of 4x4
matrices lost (0.8). Integers, products and booleans gained nothing: XLA vectorises those.
"""
