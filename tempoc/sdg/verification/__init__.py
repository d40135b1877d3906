"""The verifier of graphs, and a test that passes preserve their meaning.

May import, of its package: evaluation, graph, statements, text
"""
