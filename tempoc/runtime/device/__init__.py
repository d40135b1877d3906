"""The device: backend, stores, capacity of what grows, transfers, accounting of bytes.

May import, of its package: data, messages
"""
