"""The nodes of the program IR: statements, bounds, functions, variants, errors.

May import, of its package: nothing
"""
