"""The symbolic dependence graph (SDG), the first of the two central IRs: what is computed.

In: graphs built by the front end or parsed from text. Out: the same graphs printed, verified,
queried and rewritten; a reference interpreter (`interpret`); statements and stored tensors for the
scheduler, the memory planner and codegen (`build`). The SDG has no order of execution.

May import: base, diagnostics, symbolic, poly, ops
"""
