"""Places loops on the host or on the device, and says why some stay with the host.

In: a schedule tree, statements and their graph. Out: the tree with a place for each loop, and what
follows from that: which dimensions must be axes of arrays, which printed lines are collected.

May import, of its package: nothing
"""
