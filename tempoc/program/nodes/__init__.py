"""The nodes of the program IR: statements, arithmetic, bounds, functions, variants, errors.

May import, of its package: nothing
"""
