"""Errors as data and as text, and the positions in sources that they point at.

In: what is wrong, and where. Out: diagnostics, collected and rendered as plain text. The compiler
and the programs that it ships say everything this way.

May import: nothing
"""
