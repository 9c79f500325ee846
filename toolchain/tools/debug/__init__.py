"""Debugging with instrumented programs: `jxc.locate_nans`, and the results of `trace-values`."""
