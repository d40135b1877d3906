"""Analyses of programs: traversal, aliases, liveness, residence of cells; and the verifier.

May import, of its package: nodes
"""
