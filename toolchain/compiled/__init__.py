"""What a target's compiler made of a program: kernels, dataflow, memory, collectives."""
