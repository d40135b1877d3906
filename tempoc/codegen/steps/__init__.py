"""First and last steps of device loops, which the schedule keeps apart, put into their loops, and
steps without branches.

In: the tree of calls, without regions. Out: a tree with longer loops and fewer calls.

May import, of its package: regions
"""
