"""Statements and stored tensors of a graph, for the scheduler, the memory planner and codegen.

May import, of its package: graph
"""
