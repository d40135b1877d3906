"""`tempoc fmt`: the canonical style."""

import difflib
import sys

import click

from tempoc.cli.options import error_format_option
from tempoc.frontend.format import format_module
from tempoc.frontend.modules import read_source, write_source
from tempoc.frontend.parse import parse


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Show what would change instead of changing it.")
@error_format_option
def command(files: tuple[str, ...], check: bool, diff: bool, error_format: str) -> int:
    """Format programs in place; `-` reads standard input and writes standard output."""
    changed = 0
    for file in files:
        source = read_source(file)
        text = format_module(parse(source), source)
        if file == "-" and not (check or diff):
            click.echo(text, nl=False)
            continue
        if text == source.text:
            continue
        changed += 1
        if diff:
            lines = difflib.unified_diff(
                source.text.splitlines(True), text.splitlines(True), file, file
            )
            sys.stdout.writelines(lines)
        if check:
            click.echo(f"{file}: would be formatted", err=True)
        if not check and not diff:
            write_source(file, text)
            click.echo(f"{file}: formatted", err=True)
    return 1 if changed and check else 0
