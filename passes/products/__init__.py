"""Rewrite products of matrices so that fewer multiply-adds are needed.

A chain of products is multiplied in another order, a product that is summed or of which the trace
is taken is not computed, two products with a common factor become one, and rows are gathered
before or after a product, whichever multiplies fewer. Sums change their order.

A rewrite is carried out if the new kernels take less than the old ones. A product that is used
elsewhere stays as it is.
"""
