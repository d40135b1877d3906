"""Dimensions that need no loop: all points of a node are computed at once.

May import, of its package: analysis
"""
