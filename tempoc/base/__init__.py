"""Utilities below all other packages: source spans, diagnostics, names, printing, parsing; and
the cost model.

In: text, and positions in it. Out: spans, diagnostics as data, rendered strings, parsers built
from `grammar/`, all tuned numbers. Nothing here knows the language, a graph or a schedule.

May import: nothing
"""
