"""A graph as statements and stored tensors: what the scheduler, the planner and codegen see.

May import, of its package: graph
"""
