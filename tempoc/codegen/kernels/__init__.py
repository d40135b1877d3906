"""Kernels: from a statement to the body of a JAX function.

In: a statement with its operators, and where the memory plan keeps what it reads and writes. Out:
the lines of one function: reads of stores, operators, writes, for one point or for many at once.

May import, of its package: stores, text
"""
