"""Checkpoints: suspending a run and resuming it.

May import, of its package: data, device, host, load, messages, walk
"""
