"""Questions that several passes ask of a graph.

Nothing here changes a graph: costs, demand, dependences between points, sizes, what varies.

May import, of its package: nothing
"""
