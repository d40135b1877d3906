"""The formatter (`tempoc fmt`): prints a syntax tree in the canonical style.

May import, of its package: syntax
"""
