"""One function for arrays of many lengths: what JAX traces for two of them, with padded arrays.

May import, of its package: nothing
"""
