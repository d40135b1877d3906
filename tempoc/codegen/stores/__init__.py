"""How kernels read and write stores: cells, slots, rings, windows, padding.

May import, of its package: nothing
"""
