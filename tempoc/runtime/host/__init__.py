"""User code and the outside: Python functions, their modules, effects, recorded calls.

May import, of its package: data, device, messages, report
"""
