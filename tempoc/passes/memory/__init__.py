"""Passes that trade work for memory: accumulation, rematerialization, peeling, serialization.

May import, of its package: analysis, simplify
"""
