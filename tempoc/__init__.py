"""The compiler for `.rt` programs: recurrence equations in, a running JAX program out.

What comes in: the text of a program. What goes out: a folder that runs without this package.
The rooms stand in `tests/house/test_layers.py`, in the order in which they may import each other.

May import: nothing
"""

__version__ = "0.1.0"
