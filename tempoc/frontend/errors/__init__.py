"""Diagnostics of the front end, one function per error; all wording is here.

May import, of its package: environment
"""
