"""Random draws: keys, threefry as NumPy, and the JAX text of draws.

May import, of its package: definition, tensor
"""
