"""Canonicalization and algebraic simplification.

May import, of its package: analysis, simplify.rules
"""
