"""From the frozen schedule to the memory plan: the buffer of each tensor, and its live range.

In: statements, the schedule as loops and as times, the outputs. Out: for each tensor a store
(register, points, ring, block, growing), the frees after each statement, the arguments that a
kernel may overwrite; a table with size formulas; a verifier that replays the plan, and another one
that proves it.

May import: base, diagnostics, symbolic, program, poly, ops, sdg, schedule
"""
