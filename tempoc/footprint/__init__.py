"""From a program to the most bytes that it has in stores at one time, as a formula of its bounds.

In: the program that codegen made, and which stores are filled before it runs. Out: the peak, what
is there at it, sizes of stores. The runner finds the same out in numbers
(`runtime/forecast/dry_run.py`).

May import: base, diagnostics, program, runtime, symbolic
"""
