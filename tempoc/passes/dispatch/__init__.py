"""Library dispatch: equations that match a pattern of a table become calls of its functions,
triangular systems calls of a solver.

May import, of its package: analysis, simplify, vectorization
"""
