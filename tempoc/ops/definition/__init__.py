"""What an operator is: types, the base class with its rules, promotion, shapes, padding.

May import, of its package: nothing
"""
