"""How long a compiled program takes by the cost model: its loops and kernels, for given bounds.

In: a compilation, and all bounds. Out: nanoseconds of each outermost loop and of the kernels in it.

May import, of its package: nothing
"""
