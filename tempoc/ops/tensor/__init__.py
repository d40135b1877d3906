"""Operators on whole tensors: elementwise, reductions, scans, layout, contractions, creation.

May import, of its package: definition
"""
