"""The parser: layout, grammar actions, imported modules, syntax errors.

May import, of its package: nothing
"""
