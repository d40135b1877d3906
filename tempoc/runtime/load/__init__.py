"""Reading a compiled program: its folder, its digests, its kernels.

May import, of its package: device, host, messages, rewriting
"""
