"""Utilities below all other packages: names, printing, parsing, graphs; and the cost model.

In: text. Out: documents laid out in lines, unique names, parsers built from `grammar/`, all tuned
numbers. Nothing here knows the language, a program or a schedule.

May import: nothing
"""
