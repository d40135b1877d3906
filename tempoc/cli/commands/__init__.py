"""One file for each command: its arguments and options, and what it calls.

May import, of its package: options, reports
"""
