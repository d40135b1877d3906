"""Utilities below all other packages: spans, diagnostics, names, printing, parsing, graphs; and
the cost model.

In: text, and positions in it. Out: spans, diagnostics as data, rendered strings, parsers built
from `grammar/`, all tuned numbers. Nothing here knows the language, a program or a schedule.

May import: nothing
"""
