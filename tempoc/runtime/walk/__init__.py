"""Walking the tree of a program: statements, loops, growth, the points where a run can suspend.

May import, of its package: data, device, report
"""
