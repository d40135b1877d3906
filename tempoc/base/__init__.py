"""Utilities below all other packages: spans, diagnostics, names, printing, parsing, graphs.

In: text, and positions in it. Out: spans, diagnostics as data, rendered strings, parsers built
from `grammar/`. Nothing here knows the language, a program or a schedule.

May import: nothing
"""
