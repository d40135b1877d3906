"""The graph itself: nodes and edges, questions about them, rewriting, errors.

May import, of its package: nothing
"""
