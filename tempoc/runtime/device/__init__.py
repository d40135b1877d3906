"""The device: JAX backend, stores, capacity of growing stores, transfers, memory accounting.

May import, of its package: data, messages
"""
