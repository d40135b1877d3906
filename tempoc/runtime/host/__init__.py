"""The host's side: Python functions, effects, imports, results that are replayed.

May import, of its package: data, device, messages, report
"""
