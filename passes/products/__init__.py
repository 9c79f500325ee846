"""Rewrite products of matrices so that fewer multiply-adds are needed.

Chains of products are multiplied in another order. Sums and traces of products are computed without
the product. Two products with a common factor become one. Rows are gathered before a product or
after it, whichever needs fewer multiply-adds. Sums change their order.

A rewrite is carried out if the new kernels take less time than the old ones. A product that is used
elsewhere stays as it is.
"""
