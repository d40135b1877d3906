"""Attention as it is written: its heads, the maxima and the terms of its softmax.

May import, of its package: nothing
"""
