"""Operators that choose, repeat, or reach outside: merge, cond, recurrence, externs, effects.

May import, of its package: definition, tensor
"""
