"""From graph, statements, schedule and memory plan to what runs: `kernels.py` and the program.

In: the optimized graph, its statements, the schedule tree, the memory plan. Out: the text of
`kernels.py` (one function for each statement), a `Program`, and the directory `out/` that runs
without this compiler. Nothing here decides what is computed, when, or where it is kept.

May import: base, diagnostics, files, symbolic, program, poly, ops, sdg, schedule, memory
"""
