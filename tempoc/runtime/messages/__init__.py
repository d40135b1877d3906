"""The errors of runs, a function for each code; units of bytes and times.

May import, of its package: nothing
"""
