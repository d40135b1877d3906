"""Exact answers about time: the only room that talks to isl.

In: domains, index expressions and access entries of `symbolic`. Out: proofs, witness points,
simplified conditions, inverse and composed accesses, schedules, live ranges, whether a formula can
hold, all stated in index expressions again, so that nobody else needs to know isl.

May import: base, symbolic
"""
