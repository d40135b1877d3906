"""Suspending a run and going on from a checkpoint.

May import, of its package: data, device, host, load, messages, walk
"""
