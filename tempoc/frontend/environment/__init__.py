"""The state of elaboration: scopes, values, indexed tensors, draft nodes, failures.

May import, of its package: syntax
"""
