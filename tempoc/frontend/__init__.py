"""From `.rt` text to a symbolic dependence graph.

In: source files. Out: a checked `sdg.Graph`, or diagnostics that name every independent mistake.
The text becomes a syntax tree (`parse`), the tree is expanded, typed, proved and elaborated.

May import: base, symbolic, poly, ops, sdg
"""
