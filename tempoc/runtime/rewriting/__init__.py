"""What XLA for CPUs makes slow code of, computed by other operators: loops, steps, draws, sums.

May import, of its package: nothing
"""
