"""What a running program made JAX trace, lower and compile, and why it did so again."""
