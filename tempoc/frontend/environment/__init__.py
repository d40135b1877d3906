"""What is known while equations are evaluated: scopes, values, tensors, nodes so far, failures.

May import, of its package: syntax
"""
