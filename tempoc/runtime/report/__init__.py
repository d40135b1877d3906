"""Reports on a run: progress bar, profile, tables, memory plot.

May import, of its package: data, device, messages
"""
