"""From `.rt` text to a symbolic dependence graph.

In: source files. Out: a checked `sdg.Graph`, or diagnostics of all independent errors. The text is
parsed to a syntax tree; functions are inlined, types inferred, and accesses proved in bounds.

May import: base, diagnostics, files, symbolic, program, poly, ops, sdg
"""
