"""Where tensors are defined, where they are read, and the proof that reads stay inside.

May import, of its package: declarations, environment, errors
"""
