"""What is shown of a run: progress, profile, tables, the plot of memory.

May import, of its package: data, device, messages
"""
