"""Equations: targets, guards, and the branching definitions that several of them make.

May import, of its package: environment, errors, expressions, syntax
"""
