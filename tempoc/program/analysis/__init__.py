"""What follows from a program: its parts, aliases, live ranges, places of cells; the verifier.

May import, of its package: nodes
"""
