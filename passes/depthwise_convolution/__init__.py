"""Write depthwise convolutions as slices, products and sums, which XLA:CPU fuses and vectorises.
"""
