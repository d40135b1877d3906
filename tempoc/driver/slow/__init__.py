"""What a compiled program spends its time on by the cost model, and why that is a loop.

In: compilations, with the remarks of passes. Out: the most expensive loops and kernels with reasons
in words of the source; a reason is what a pass recorded, or what the last graph shows.

May import, of its package: timing, report
"""
