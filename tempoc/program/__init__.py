"""The program IR: what the runner executes, as plain data that outlives the compiler.

In: nodes built by codegen, or the JSON of a compiled program. Out: nodes, JSON, readable text, and
errors about malformed programs. A compiled program carries a copy of this package, which therefore
needs the standard library alone.

May import: symbolic
"""
