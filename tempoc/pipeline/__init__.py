"""The pass manager: runs passes in order, verifies, times and records them.

In: an immutable value to transform (here called a graph, of any type), passes, a context. Out: the
transformed graph and a record per pass. Nothing here depends on the type of the graph.

May import: base, diagnostics, symbolic
"""
