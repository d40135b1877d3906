"""Operators of linear algebra on square matrices, Fourier transforms, long convolutions.

May import, of its package: definition, tensor
"""
