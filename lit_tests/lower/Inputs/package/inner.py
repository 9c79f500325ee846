from . import FACTOR


def triple(x):
    return x * FACTOR
