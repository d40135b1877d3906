"""Device loops and device blocks: parts of the schedule that are one function of `kernels.py`.

In: a part of the tree in which the host has nothing to do. Out: a function with its kernels inlined
in `lax` loops, and the statement that calls it.

May import, of its package: kernels, stores, text
"""
