"""What is recorded while a program runs: compilations, the profiler's trace, Python's stack."""
