"""Which kernels of libraries and of the user a program may call, and a look at the latter."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tempoc.cli.options.options import FileName, stack
from tempoc.driver.options import DEVICES, Options

if TYPE_CHECKING:
    from tempoc.driver.compilation import Compilation

kernel_options = stack(
    click.option(
        "--dispatch",
        type=FileName(),
        metavar="FILE",
        help="A table of Python functions for formulas: see `tempoc help dispatch`.",
    ),
    click.option(
        "--no-dispatch",
        is_flag=True,
        help="Use no kernel of the table that comes with tempoc.",
    ),
    click.option(
        "--device",
        type=click.Choice(DEVICES),
        help="Compile for this kind of device; by default for the one that is here.",
    ),
)


def with_kernels(
    options: Options, dispatch: str | None, no_dispatch: bool, device: str | None
) -> Options:
    """The options with a table of kernels. Raises ``DiagnosticError`` if it cannot be read."""
    table = None
    if dispatch is not None:
        from tempoc.driver.kernel_table import read_table

        folder = str(Path(dispatch).resolve().parent)
        table = read_table(dispatch), dispatch, folder
    library = not no_dispatch
    return replace(options, kernels=table, library=library, device=device or device_here())


def device_here() -> str:
    """The kind of device that JAX has here; it is not loaded where no other than a CPU can be."""
    if importlib.util.find_spec("jax_plugins") is None:
        return DEVICES[0]
    from tempoc.runtime.device import backend

    return DEVICES[backend.has_commands()]


def compare_kernels(compilation: Compilation) -> None:
    """Call each function of a table once that the program calls, and compare it with its formula.

    Those for a device that is not here are not called. Raises ``DiagnosticError`` (RT113, RT114).
    """
    for entry in compilation.called_kernels:
        if entry.device in ("", device_here()):
            from tempoc.driver.report.compared_kernel import compare_kernel

            compare_kernel(entry, compilation.folders)


def kernel_notes(compilation: Compilation) -> tuple[str, ...]:
    """That the program calls no function of the user's table, if there is one."""
    table = compilation.options.kernels
    if table is None or compilation.called_kernels:
        return ()
    fits = any(entry.module for entry in compilation.kernels)
    why = "`tempoc explain --remarks` says why" if fits else "it has no entry for this device"
    return (f"no function of {table[1]} is called: {why}",)
