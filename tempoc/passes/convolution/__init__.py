"""Sums of products at a lag: which they are, and the operator that computes all points together.

May import, of its package: analysis
"""
