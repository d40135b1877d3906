"""The data of runs: bounds, arrays, dtypes, files, comparisons.

May import, of its package: messages
"""
