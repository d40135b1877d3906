"""The `tempoc` command: options, terminals, exit statuses. One file for each command.

In: the command line. Out: text on standard output and error, an exit status. Commands import late,
so that `check` and `--help` never wait for JAX or sympy.

May import: base, codegen, diagnostics, driver, files, footprint, frontend, program,
runtime, sdg, symbolic
"""
