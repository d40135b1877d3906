"""Sets and relations: index expressions as isl objects, questions about them, and back again.

May import, of its package: nothing
"""
