"""The text of a graph, printed and read back.

May import, of its package: graph
"""
