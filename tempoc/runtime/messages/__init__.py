"""The errors of runs, a function for each code; faults of kernels; units of bytes and times.

May import, of its package: nothing
"""
