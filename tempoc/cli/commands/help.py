"""`tempoc help`: the pages of the manual, which is part of the package (`tempoc/manual/*.md`)."""

import difflib
import re

import click

from tempoc.base.resources import manual_page

PAGES = (
    "start", "commands", "loops", "memory", "cost", "budget", "tune", "checkpoints", "devices",
    "numbers", "python", "errors",
)  # fmt: skip
"""The names of all pages, in the order in which one would read them."""
_FENCE = "```"


@click.command("help")
@click.argument("page", required=False, metavar="[PAGE]")
def command(page: str | None) -> int:
    """Print a page of the manual; without PAGE, the list of all pages."""
    if page is None:
        click.echo(f"{_page_list()}\n\n`tempoc help PAGE` prints a page.")
        return 0
    if page not in PAGES:
        raise click.UsageError(_no_such_page(page))
    click.echo(plain_text(manual_page(page)), nl=False)
    return 0


def plain_text(markdown: str) -> str:
    """A page without Markdown's marks: headings underlined, code indented, tables aligned."""
    lines: list[str] = []
    table: list[str] = []
    in_code = False
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|") and not in_code:
            table.append(line)
            continue
        lines += _aligned(table)
        table.clear()
        if line.startswith(_FENCE):
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}".rstrip())
        elif heading := re.fullmatch(r"(#+) (.*)", line):
            lines += [heading[2], ("=" if heading[1] == "#" else "-") * len(heading[2])]
        else:
            lines.append(re.sub(r"\*\*(\S[^*]*\S)\*\*", r"\1", line))
    return "\n".join(lines)


def _aligned(table: list[str]) -> list[str]:
    """The rows of a table in columns; the ruler and an empty head are left out."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    rows = [row for row in rows if not set("".join(row)) <= {"-"}]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f"  {'  '.join(f'{c:{w}}' for c, w in zip(row, widths, strict=True))}".rstrip()
        for row in rows
    ]


def _page_list() -> str:
    """Every page with its subject, which its first line states: `# memory: how much, and why`."""
    width = max(map(len, PAGES)) + 2
    subjects = (manual_page(name).partition("\n")[0].partition(": ")[2] for name in PAGES)
    return "\n".join(f"  {n:{width}}{s}" for n, s in zip(PAGES, subjects, strict=True))


def _no_such_page(page: str) -> str:
    near = difflib.get_close_matches(page, PAGES, n=1, cutoff=0.5)
    question = f" Did you mean '{near[0]}'?" if near else ""
    return f"the manual has no page '{page}'.{question} Its pages are:\n{_page_list()}"
