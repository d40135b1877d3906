"""Calls in expressions: functions of the program, builtins, Python functions, `grad`.

May import, of its package: environment, equations, errors, expressions, syntax
"""
