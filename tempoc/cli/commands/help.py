"""`tempoc help`: the pages of the manual, which is part of the package (`tempoc/manual/*.md`)."""

import difflib
import re
import sys

import click

from tempoc.base.resources import manual_page
from tempoc.cli.reports import narrow
from tempoc.cli.reports.terminal import PAGE, console, draw, echo
from tempoc.runtime.report.streams import is_terminal

PAGES = (
    "start", "commands", "loops", "memory", "lengths", "cost", "slow", "capture", "budget", "tune",
    "checkpoints", "files", "devices", "dispatch", "numbers", "checks", "python", "trust",
    "limits", "errors",
    "install",
)  # fmt: skip
"""The names of all pages, in the order in which one would read them."""
_FENCE = "```"
_ITEM = re.compile(r"(- |\d+\. )")


@click.command("help")
@click.argument("page", required=False, metavar="[PAGE]")
def command(page: str | None) -> int:
    """Print a page of the manual; without PAGE, the list of all pages."""
    if page is None:
        echo(f"{_page_list()}\n\n`tempoc help PAGE` prints a page.")
        return 0
    if page not in PAGES:
        raise click.UsageError(_no_such_page(page))
    if is_terminal(sys.stdout):
        width = console(sys.stdout).width
        draw(plain_text(manual_page(page), width), sys.stdout, PAGE)
    else:
        echo(plain_text(manual_page(page)), nl=False)
    return 0


def plain_text(markdown: str, width: int | None = None) -> str:
    """A page without Markdown's marks: headings underlined, code indented, tables aligned.

    Sentences and tables are laid out anew for a `width` in columns; code stays as it is.
    """
    lines: list[str] = []
    table: list[str] = []
    sentences: list[str] = []
    in_code = False
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|") and not in_code:
            table.append(line)
            continue
        lines += _aligned(table, width)
        table.clear()
        is_prose = not (in_code or not line or line.startswith(("#", _FENCE)))
        if sentences and not (is_prose and _ITEM.match(line) is None):
            lines += _paragraph(sentences, width or 0)
            sentences.clear()
        if width and is_prose:
            sentences.append(_without_bold(line).strip())
            continue
        if line.startswith(_FENCE):
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}".rstrip())
        elif heading := re.fullmatch(r"(#+) (.*)", line):
            lines += [heading[2], ("=" if heading[1] == "#" else "-") * len(heading[2])]
        else:
            lines.append(_without_bold(line))
    return "\n".join(lines)


def _paragraph(sentences: list[str], width: int) -> list[str]:
    """Sentences in lines of at most `width` columns; those of a list's item are indented."""
    text = " ".join(sentences)
    item = _ITEM.match(text)
    indent = item.end() if item else 0
    lines = narrow.broken(text[indent:], width - indent)
    return [text[:indent] + lines[0], *(" " * indent + line for line in lines[1:])]


def _without_bold(line: str) -> str:
    return re.sub(r"\*\*(\S[^*]*\S)\*\*", r"\1", line)


def _aligned(table: list[str], width: int | None) -> list[str]:
    """The rows of a table in columns; the ruler and an empty head are left out."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    rows = [row for row in rows if not set("".join(row)) <= {"-"}]
    return [f"  {line}" for line in narrow.fold(rows, width and width - 2)]


def _page_list() -> str:
    """Every page with its subject, which its first line states: `# memory: how much, and why`."""
    width = max(map(len, PAGES)) + 2
    subjects = (manual_page(name).partition("\n")[0].partition(": ")[2] for name in PAGES)
    return "\n".join(f"  {n:{width}}{s}" for n, s in zip(PAGES, subjects, strict=True))


def _no_such_page(page: str) -> str:
    near = difflib.get_close_matches(page, PAGES, n=1, cutoff=0.5)
    question = f" Did you mean '{near[0]}'?" if near else ""
    return f"the manual has no page '{page}'.{question} `tempoc help` lists all pages."
