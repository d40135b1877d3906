"""Recurrences along one dimension that become one operator, a step of which makes all of them.

May import, of its package: analysis, domain, simplify, vectorization
"""
