"""From the frozen schedule to the memory plan: where every tensor lives, and until when.

In: statements, the schedule as loops and as times, the outputs. Out: for every tensor a store
(register, points, ring, block), what dies after which statement, what a kernel may overwrite; a
table with formulas; a verifier that replays the plan, and another one that proves it.

May import: base, symbolic, poly, ops, sdg, schedule
"""
