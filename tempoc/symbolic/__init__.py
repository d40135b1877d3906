"""Index expressions and iteration domains, as small frozen trees.

In: integers, dimensions and bounds. Out: expressions in canonical form, substituted, evaluated,
printed and parsed; iteration domains. Properties that need a proof for all points are in `poly`.

May import: nothing
"""
