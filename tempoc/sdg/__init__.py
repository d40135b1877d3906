"""Waist one: the symbolic dependence graph, what is computed.

In: graphs made by the front end or read from text. Out: the same graphs printed, checked, queried
and rewritten, their meaning (`interpret`), and their form as statements and tensors for the
scheduler, the memory planner and codegen (`build`). Nothing here decides an order of execution.

May import: base, symbolic, poly, ops
"""
