"""What `explain`, `--stats` and `--remarks` show of a compilation, as text.

In: compilations. Out: tables and texts; nothing is computed here that a stage does not say.

May import, of its package: search
"""
