"""Differentiation of graphs: reverse mode, symbolic in time.

In: a graph with `Gradient` placeholders. Out: the graph with the nodes of the derivatives instead.
The cotangent of a tensor at a point is the sum of the contributions of all points that read it.

May import: base, diagnostics, symbolic, poly, ops, sdg
"""
