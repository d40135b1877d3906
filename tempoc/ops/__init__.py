"""Operators: what a node of the graph computes at one point.

In: types of operands, or their values, or their names in a kernel. Out: types of results, values
(NumPy), or JAX text. Each operator is one class with all its rules; `catalog` names them all with
their fields, `definition/operator` is their common base class.

May import: base, program, symbolic
"""
