"""Fusion: groups of nodes that become one kernel.

May import, of its package: analysis
"""
