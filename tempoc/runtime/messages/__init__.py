"""Everything that a run can report as wrong, a function for each code; units of bytes.

May import, of its package: nothing
"""
