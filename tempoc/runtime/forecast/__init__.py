"""Predictions before a run: the dry run for the peak of memory, and memory budgets.

May import, of its package: data, device, messages, walk
"""
