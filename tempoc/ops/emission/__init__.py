"""What the JAX text of operators needs: the emitter, functions that kernels share, ragged layouts.

May import, of its package: control, definition, indexing, linear, random, tensor
"""
