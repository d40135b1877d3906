"""From text to syntax trees: layout, grammar, modules, and what is said of text that is none.

May import, of its package: nothing
"""
