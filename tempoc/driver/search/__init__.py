"""Searches among ways to compile one program: for a budget, for ranges of bounds, for speed.

In: a program, and what its runs are to keep to. Out: the compilations that do, or the reasons why
none does.

May import, of its package: nothing
"""
