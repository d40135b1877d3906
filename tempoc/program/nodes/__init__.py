"""What a program is made of: nodes, arithmetic, bounds, functions, variants, errors.

May import, of its package: nothing
"""
