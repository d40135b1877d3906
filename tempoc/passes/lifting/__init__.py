"""Reductions over ranges that become one operator: sums, scans, windows; steps that become a loop.

May import, of its package: analysis, convolution, domain, simplify
"""
