"""The order of products: chains of contractions, and the cheapest way to associate them.

May import, of its package: analysis, simplify.rules
"""
