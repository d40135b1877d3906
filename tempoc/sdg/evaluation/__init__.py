"""The reference evaluator: what a graph means, point by point, in NumPy.

May import, of its package: graph
"""
