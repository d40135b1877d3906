"""Diagnostics of the front end, a function for each code: the wording is here and nowhere else.

May import, of its package: environment
"""
