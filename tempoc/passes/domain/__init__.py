"""Passes that change where nodes are computed: index-set splitting, invariants, trimmed domains.

May import, of its package: analysis, simplify, vectorization
"""
