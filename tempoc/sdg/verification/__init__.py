"""Whether a graph is well formed, and whether passes keep its meaning.

May import, of its package: evaluation, graph, statements, text
"""
