"""The program around the kernels, and the directory of a compiled program.

In: kernels, device loops, the schedule and the memory plan. Out: the nodes of `program`, the text
of `kernels.py`, and the files of `out/`.

May import, of its package: kernels, regions, steps, stores, text
"""
