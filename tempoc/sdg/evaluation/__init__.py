"""The reference interpreter of graphs, point by point, in NumPy.

May import, of its package: graph
"""
