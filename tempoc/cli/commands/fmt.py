"""`tempoc fmt`: the canonical style."""

import difflib

import click

from tempoc.cli.options.options import FileName, error_format_option
from tempoc.cli.reports.terminal import as_it_is, echo
from tempoc.diagnostics.diagnostic import Collector
from tempoc.diagnostics.render import printed
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.load_modules import STANDARD_INPUT, read_source, write_source
from tempoc.frontend.syntax.parse import parse


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, type=FileName(), metavar="FILE...")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Show what would change instead of changing it.")
@error_format_option
def command(files: tuple[str, ...], check: bool, diff: bool, error_format: str) -> int:
    """Format programs in place; `-` reads standard input and writes standard output."""
    changed = 0
    errors = Collector()
    for file in files:
        with errors.catching():
            changed += _format(file, check, diff)
    errors.raise_errors()
    return 1 if changed and check else 0


def _format(file: str, check: bool, diff: bool) -> bool:
    """Format one file or say what would change; whether it is not in the style."""
    source = read_source(file)
    text = format_module(parse(source), source)
    if file == STANDARD_INPUT and not (check or diff):
        as_it_is(text)
        return False
    if text == source.text:
        return False
    if diff:
        name = printed(file)
        before, after = (t.splitlines(keepends=True) for t in (source.text, text))
        as_it_is("".join(difflib.unified_diff(before, after, name, name)))
    if check:
        echo(f"{printed(file)}: would be formatted", err=True)
    if not check and not diff:
        write_source(file, text)
        echo(f"{printed(file)}: formatted", err=True)
    return True
