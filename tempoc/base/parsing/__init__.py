"""Grammars: the only package that imports the parser library, and what it remembers of its tables.

In: texts of `grammar/`, a text to parse. Out: trees with the places of all tokens, or the place of
the first token that no rule allows and what would have been allowed there.

May import, of its package: nothing
"""
