"""Utilities below all other packages: names, printing, parsing.

In: text. Out: documents laid out in lines, unique names, parsers built from `grammar/`. Nothing
here knows the language, a graph or a schedule.

May import: nothing
"""
