"""Rewrite rules, each a row that knows its name; `pattern.py` says what a row may look at.

May import, of its package: analysis
"""
