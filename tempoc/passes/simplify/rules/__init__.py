"""Rewrite rules for single nodes: `table.py` has all of them.

`equation.py` reads rules that are equations of scalars, `pattern.py` has the matching of others.

May import, of its package: analysis
"""
