"""The graph: nodes and edges, queries, rewriting, errors.

May import, of its package: nothing
"""
