"""Differentiation of graphs: reverse mode, symbolic in time.

In: a graph with gradients to be made. Out: the nodes of the derivatives. The cotangent of a tensor
at a point sums the contributions of all points that read it.

May import: base, symbolic, poly, ops, sdg
"""
