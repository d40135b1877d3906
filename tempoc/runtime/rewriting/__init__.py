"""What XLA for CPUs makes slow code of, computed by other operators: loops, steps, draws.

May import, of its package: nothing
"""
