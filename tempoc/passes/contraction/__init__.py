"""Chains of contractions, in their cheapest order of multiplication; contractions of joined parts.

May import, of its package: analysis, simplify, tiling
"""
