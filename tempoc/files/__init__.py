"""Files that are there whole or not at all: written, replaced, locked and read as one.

In: paths, bytes, functions that write. Out: durable files and folders, what was read of a folder
that somebody else may exchange meanwhile. The compiler and the programs that it ships write every
file this way. Knows nothing of what is in them.

May import: nothing
"""
