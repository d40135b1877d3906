"""Options of `explain --memory`."""

import click

from tempoc.cli.options.options import declared, stack

memory_options = stack(
    click.option("--bounds", multiple=True, metavar="T=64,B=2", help="Values of bounds."),
    click.option(
        "--solve", metavar="NAME", help="The largest value of a bound that keeps to the budget."
    ),
    declared("memory_budget"),
)
