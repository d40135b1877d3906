"""Runs compiled programs: load, check all arguments, allocate, walk the tree, collect outputs.

In: the directory of a compiled program, bounds, inputs and parameters (arrays or files). Out:
output arrays, files, a table; or all errors at once. A compiled program carries a copy of this
package, which needs only numpy and jax.

May import: diagnostics, files, program, symbolic
"""
