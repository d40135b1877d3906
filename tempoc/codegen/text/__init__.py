"""The text of emitted Python: names, index expressions, inlined values, line wrapping, sources.

May import, of its package: nothing
"""
