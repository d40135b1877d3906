"""Schedules: the problem that isl solves, loop nests and times of its answer, live ranges.

May import, of its package: relations
"""
