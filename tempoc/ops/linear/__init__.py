"""Operators of linear algebra on square matrices, and Fourier transforms.

May import, of its package: definition, tensor
"""
