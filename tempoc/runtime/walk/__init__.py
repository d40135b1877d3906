"""The host program of a compiled program as flat code, and the frame it runs in.

May import, of its package: data, device, messages
"""
