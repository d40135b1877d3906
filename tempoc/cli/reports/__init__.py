"""What a command shows beside its data: diagnostics, dumps, tables, the outcome of checks.

May import, of its package: options
"""
