"""Searches for variants of a program: within a memory budget, for ranges of bounds, for speed.

In: a compilation and the constraint. Out: the compilations that satisfy it, or an error that says
why none does.

May import, of its package: timing
"""
