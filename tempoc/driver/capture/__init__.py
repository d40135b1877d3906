"""Which parts of a program CUDA graphs can hold, what prevents the others, and what would help.

In: compilations, with the remarks of passes; what XLA launches, where it compiles for a GPU. Out:
the functions and loops of a program in the order in which the host runs them, with reasons in words
of the source.

May import, of its package: slow
"""
