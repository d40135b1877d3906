"""Strip-mining: what is too large is computed tile by tile, and partial results are combined.

May import, of its package: analysis
"""
