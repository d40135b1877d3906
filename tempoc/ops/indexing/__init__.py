"""Operators that take elements by position, add to them, search and sort.

May import, of its package: definition, tensor
"""
