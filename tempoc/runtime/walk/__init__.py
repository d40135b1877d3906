"""The host program (walk) of a compiled program: statements, loops, growth, suspend points.

May import, of its package: data, device, report
"""
