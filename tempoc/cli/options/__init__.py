"""Options that several commands share, and what their values mean.

May import, of its package: nothing
"""
