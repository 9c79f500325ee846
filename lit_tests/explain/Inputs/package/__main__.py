"""Print how the program was started, run a small program, and exit as the arguments request."""

import atexit
import sys

import jax
import numpy as np

print("argv", sys.argv[1:], __name__, __package__)
print("path", sys.path[0])
atexit.register(print, "at the end")
jax.jit(lambda x: x + 1)(np.float32(1))
match sys.argv[1:]:
    case ["exit", code]:
        sys.exit(int(code))
    case ["say", words]:
        sys.exit(words)
    case ["raise"]:
        raise ValueError("mine")
