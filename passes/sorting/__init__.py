"""Rewrite sorts as sorts of integers or partitions, and parts of sorts as top-k or bisections.

Only for CPU, where XLA calls a compiled comparison for all but the simplest sorts. For a sort by
one key of 32 bits or less, with any number of other operands, key and position are packed into one
64-bit integer: 2.4 to 6.4 times faster from a thousand elements on, 50 ms more to compile. Columns
that compete for places in the cache are sorted in the transpose: 2 to 3 times faster again. A sort
by 2 to 4 keys is as many packed sorts: 4.6 times faster for two keys of 262,144 elements. A few
elements at the start or end of a sorted axis are selected without a sort: 2 to 50 times faster,
most for the fewest elements. A few elements from anywhere, as of a median or a quantile, are found
by bisection: up to 10 times faster than the packed sort, 0.2 s more to compile for each. Many rows
of up to 4096 elements, without other operands, are sorted by a network of minima and maxima: 2 to 4
times faster than the packed sort, 0.2 s more to compile. With a -0.0 it takes up to 1.5 times as
long as that sort.

Top-k of many elements, or of integers, is a packed sort: 2 to 3.6 times faster. XLA sorts for
`approx_min_k`; it is 9 to 22 times faster by top-k.

A stable sort by booleans counts the position of each element: 2 to 3 times faster for 1000
elements, 10 to 40 for 200,000, 0.3 s more to compile. Membership in a list, as in `jnp.isin`, is a
binary search in the sorted list: 10 times faster for 10,000 numbers in 1000, 0.1 s more to compile.

The results are bit for bit those of a stable sort: NaNs last; zeros of either sign, and other equal
elements, in their order.
"""
