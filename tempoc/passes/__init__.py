"""Passes: graph to graph, preserving semantics.

In: a verified graph. Out: a graph with the same outputs, smaller, simpler, or with its nodes
grouped into kernels. A pass is a frozen dataclass whose fields are its options; its docstring shows
before and after. The order in which they run is the driver's.

May import: base, symbolic, pipeline, poly, ops, sdg
"""
