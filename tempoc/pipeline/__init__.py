"""How passes run: one after the other, checked, timed, recorded.

In: something immutable to transform (here called a graph, of any type), steps, a context. Out: the
transformed graph and a record of each step. Nothing here knows what a graph is.

May import: base
"""
