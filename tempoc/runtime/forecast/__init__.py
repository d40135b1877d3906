"""What a run will take before it starts: budgets, and the dry run.

May import, of its package: data, device, messages, report, walk
"""
