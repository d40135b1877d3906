"""Index expressions: what a program says about time, as small frozen trees.

In: integers, dimensions and bounds. Out: expressions in canonical form, substituted, evaluated,
printed and read back; domains, which say where something is computed. Questions whose answer needs
a proof about all points go to `poly`.

May import: base
"""
