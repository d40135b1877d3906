"""Options about memory: budgets in bytes, and what `explain --memory` is about."""

from typing import Any

import click

from tempoc.cli.options.options import stack
from tempoc.runtime.messages.units import parse_size


class ByteSize(click.ParamType[int]):
    """A number of bytes: `24GiB`, `500MB`, `4096`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """In bytes."""
        size = value if isinstance(value, int) else parse_size(value)
        if size is None:
            self.fail(f"'{value}' is no size in bytes, such as 24GiB or 500MB", param, ctx)
        return size


budget_option = click.option(
    "--memory-budget",
    type=ByteSize(),
    metavar="SIZE",
    help="The most that all stores of a run may take together: 24GiB, 500MB.",
)
memory_options = stack(
    click.option("--bounds", multiple=True, metavar="T=64,B=2", help="Values of bounds."),
    click.option(
        "--solve", metavar="NAME", help="The largest value of a bound that keeps to the budget."
    ),
    budget_option,
)
