"""Offloading: programs that exceed device memory keep some stores in host memory between uses.

In: the program of codegen, and the stores to offload or a budget by which to choose them. Out: the
program with `load` and `evict` statements around the uses of their cells. An independent verifier
checks the placement (`program/analysis/places.py`).

May import: base, program, runtime, symbolic
"""
