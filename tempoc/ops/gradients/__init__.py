"""The derivative of each operator, and the table of them.

May import, of its package: control, definition, indexing, linear, tensor
"""
