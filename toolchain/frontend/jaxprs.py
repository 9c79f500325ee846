"""Questions about jaxprs that only private names of jax answer, for other rooms."""

from ._private import argument_names, frames_of, inner_jaxprs, print_numbered, traced_file

__all__ = ["argument_names", "frames_of", "inner_jaxprs", "print_numbered", "traced_file"]
