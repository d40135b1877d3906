"""What `--check` can look for in the values of a program."""

OVERFLOW, FINITE = "overflow", "finite"
CHECKS = (OVERFLOW, FINITE)
