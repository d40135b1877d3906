"""Analyses of graphs that several passes share; none of them changes a graph.

Costs, demand, dependences with direction vectors, size estimates, invariance.

May import, of its package: nothing
"""
