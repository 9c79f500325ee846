"""The magic `%%jxc` of notebooks; `load_ipython_extension` adds it."""

from .magic import load_ipython_extension, unload_ipython_extension

__all__ = ["load_ipython_extension", "unload_ipython_extension"]
