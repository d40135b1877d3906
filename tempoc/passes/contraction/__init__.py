"""Chains of contractions, and their cheapest order of multiplication.

May import, of its package: analysis, simplify, tiling
"""
