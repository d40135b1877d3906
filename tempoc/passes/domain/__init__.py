"""Passes that change iteration domains: index-set splitting, retiming, if-conversion, trimming.

May import, of its package: analysis, simplify, vectorization
"""
