"""Expressions: from syntax to nodes of the graph, with types and domains.

May import, of its package: environment, errors, syntax
"""
