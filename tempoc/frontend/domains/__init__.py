"""Iteration domains: demand analysis, and the proof that accesses are in bounds.

May import, of its package: declarations, environment, errors
"""
