"""Rewrite rules for single nodes; `pattern.py` has the matching, `table.py` all rules.

May import, of its package: analysis
"""
