"""Canonicalization and algebraic simplification.

May import, of its package: simplify.rules
"""
