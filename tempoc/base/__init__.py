"""What every room stands on: sources and spans, diagnostics, names, printing, the parser door.

In: text, and positions in it. Out: spans, diagnostics as data, rendered strings, parsers built
from `grammar/`. Nothing here knows the language, a graph or a schedule.

May import: nothing
"""
