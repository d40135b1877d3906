"""What a file declares: dimensions, bounds, constants, inputs, params, outputs, effects.

May import, of its package: calls, environment, errors, expressions, syntax
"""
