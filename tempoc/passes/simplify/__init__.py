"""Dead and duplicate code, constants, copies, algebraic identities.

May import, of its package: simplify.rules
"""
