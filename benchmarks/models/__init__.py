"""Benchmark programs: networks and samplers of other packages, and small ones in plain JAX.

There is a file for each family. A new file, or a new `@model` function, adds to `MODELS`.
Weights and data are random, from one seed. A model imports the packages it needs when it is built.
"""

from __future__ import annotations

import importlib
import os
import pkgutil

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from .registry import MODELS, SIZES, Model, Program

for _found in pkgutil.iter_modules(__path__):
    importlib.import_module(f".{_found.name}", __name__)

__all__ = ["MODELS", "SIZES", "Model", "Program"]
