"""Programs that passes have instrumented: compiled, run, and what they saw put into words."""
