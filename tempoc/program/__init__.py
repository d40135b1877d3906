"""The program: what is executed, as plain data that outlives the compiler.

In: what codegen builds, or the JSON of a compiled program. Out: nodes, JSON, text for people, and
errors about programs that make no sense. A compiled program carries a copy of this package, so it
stands on the standard library alone.

May import: nothing
"""
