"""Runs compiled programs: load, check everything, allocate, walk, collect.

In: the directory of a compiled program, bounds, inputs and parameters (arrays or files). Out:
output arrays, files, a table; or errors that name what is wrong, all of them at once. A compiled
program carries a copy of this package, which needs only numpy and jax.

May import: program
"""
