"""Library dispatch: equations that match a pattern of a table become calls of its functions.

May import, of its package: analysis
"""
