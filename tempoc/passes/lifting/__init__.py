"""Recurrences and reductions over ranges that become one operator: sums, scans, windows.

May import, of its package: analysis, convolution, domain, simplify, vectorization
"""
