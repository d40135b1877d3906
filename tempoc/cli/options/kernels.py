"""The options that say which kernels of libraries and of the user a program may call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tempoc.cli.options.options import FileName, stack
from tempoc.driver.kernel_table import DEVICES, read_table
from tempoc.driver.options import Options

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
        folder = str(Path(dispatch).resolve().parent)
        table = read_table(dispatch), dispatch, folder
    return replace(options, kernels=table, library=not no_dispatch, device=device or "")
