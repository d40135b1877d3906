"""How emitted Python is spelled: names, index expressions, folded values, line breaks, sources.

May import, of its package: nothing
"""
