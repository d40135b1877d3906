"""Data that goes in and comes out: bounds, arrays, dtypes, files, comparisons.

May import, of its package: messages
"""
