"""From a program that does not fit the device to one whose stores live with the host meanwhile.

In: the program that codegen made, and which stores are to go; or a budget, by which these are
chosen. Out: the program with `load` and `evict` around what needs their cells. Whether these stand
where they must is checked without all this (`program/analysis/places.py`).

May import: program, runtime
"""
