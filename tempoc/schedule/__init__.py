"""When everything is computed: from statements to a tree of loops.

In: `sdg` statements and tensors. Out: a schedule tree that respects every dependence (proved again
by `verify`, which does not trust the solver), and the timeline from which `memory` reads live
ranges; or a diagnostic that shows the cycle of equations for which there is no order.

May import: base, symbolic, poly, ops, sdg
"""
