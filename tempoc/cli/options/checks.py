"""`--check`: what is looked for in the values of a run or an evaluation."""

import click

from tempoc.base.checks import CHECKS
from tempoc.cli.options import options

check_option = click.option(
    "--check",
    "checks",
    metavar="WHAT",
    default="",
    help="Find the first value that overflows (i32, i64) or is not finite: overflow,finite.",
)
"""Its text goes to `parse_checks`."""


def parse_checks(text: str) -> tuple[str, ...]:
    """`overflow,finite`: each once, in this order."""
    words = [word.strip() for word in text.split(",")] if text else []
    for word in words:
        if word not in CHECKS:
            options.refuse(f"--check knows {' and '.join(CHECKS)}, not '{word}'")
    return tuple(check for check in CHECKS if check in words)
