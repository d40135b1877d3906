"""Passes that change iteration domains: index-set splitting, invariant code motion, trimming.

May import, of its package: analysis, simplify, vectorization
"""
