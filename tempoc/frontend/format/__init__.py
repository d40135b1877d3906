"""The canonical style: a syntax tree printed as `tempoc fmt` leaves it.

May import, of its package: syntax
"""
