"""Printer and parser of graphs.

May import, of its package: graph
"""
