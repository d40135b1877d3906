"""The scheduler: from statements to a tree of loops.

In: `sdg` statements and tensors. Out: a schedule tree that satisfies every dependence (verified by
`verify`, independently of the solver), and the timeline from which `memory` computes live ranges;
or a diagnostic with the dependence cycle that makes the program unschedulable.

May import: base, diagnostics, pipeline, symbolic, poly, ops, sdg
"""
