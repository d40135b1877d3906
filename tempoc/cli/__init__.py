"""The `tempoc` command: options, terminals, exit statuses. One file for each command.

In: the command line. Out: text on standard output and error, an exit status. Commands import late,
so that `check` and `--help` never wait for JAX or sympy, nor a program without gradients for what
differentiates.

May import: autodiff, base, codegen, diagnostics, driver, files, footprint, frontend, poly, program,
runtime, sdg, symbolic
"""
