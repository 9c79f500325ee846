"""Rewrite sorts by one key as sorts of integers, and slices of sorted axes as top-k.

Only for CPU, where XLA calls a compiled comparison for all but the simplest sorts. For a sort by
one key of 32 bits or less, with any number of other operands, key and position are packed into one
64-bit integer: 2.4 to 6.4 times faster from a thousand elements on, 50 ms more to compile. A few
elements at the start or end of a sorted axis are selected without a sort: 2 to 50 times faster,
most for the fewest elements. The results are bit for bit those of a stable sort: NaNs last; zeros
of either sign, and other equal elements, in their order.
"""
