"""What the README, the manual and the other guides say happens when one does what they say."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tempoc.cli.commands.help import PAGES
from tempoc.cli.main import COMMANDS, cli
from tests.cli.documents import (
    MANUAL,
    ROOT,
    Block,
    agrees,
    answers,
    blocks,
    commands,
    prepare,
    readme,
)
from tests.cli.session import Session
from tests.support.session.long import chosen

GUIDES = (
    "README.md", "examples/README.md", "tempoc/README.md", "golden/README.md", "tests/README.md",
    "tests/bench/README.md",
)  # fmt: skip
FILES = (*GUIDES, *(f"tempoc/manual/{name}.md" for name in PAGES))
LANGUAGES = {"", "sh", "console", "python", "rt"}
OF_OTHERS = {
    "--help", "--version", "--bless", "--long", "--quick", "--full",
    "--tokens", "--out", "--chat", "--home", "--slots", "--port", "--xla", "--list",
    "--processor-time",
}  # fmt: skip
"""Options of pytest, of benchmarks and of scripts in `examples/`; flags of XLA."""
COLUMNS = 125

each_file = pytest.mark.parametrize("name", FILES)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@each_file
def test_examples_do_what_is_said(
    tempoc: Session, name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    prepare(tmp_path)
    bless, text, names = (
        request.config.getoption("--bless", "--long"),
        text_of(name),
        {"__name__": name},
    )
    # Each is a run of an example: models/test_examples.py has all of them, as users run them.
    others = name == "examples/README.md" and not (bless or chosen["long"])
    for number, block in enumerate(blocks(text)):
        if others and number % 2:
            continue
        match block.language:
            case "rt":
                Path(block.words[1]).write_text(block.text, encoding="utf-8")
                assert tempoc(["check", block.words[1]]) == 0, tempoc.err
            case "console":
                answered = run_commands(tempoc, block)
                if bless and answered != block.text:
                    (ROOT / name).write_text(text_of(name).replace(block.text, answered))
                else:
                    assert answered == block.text
            case "python" if len(block.words) > 1:
                assert tempoc(["explain", *block.words[1:], "--dump-kernels"]) == 0, tempoc.err
                assert block.text in tempoc.out
            case "python":
                exec(compile(block.text, name, "exec"), names)


def run_commands(tempoc: Session, block: Block) -> str:
    """The block as it should be: answers that agree stay as they are."""
    text = ""
    for command in commands(block):
        answer = answers(tempoc, command)
        shown = command.answer if agrees(command.answer, answer) else answer
        text += f"$ {command.line}\n{shown}"
    return text


def test_the_readme_shows_the_compiler() -> None:
    """Two commands, the loops and stores, a kernel, a mistake and a gradient."""
    shown = [command for block in blocks(readme()) for command in commands(block)]
    for start in ("compile smooth.rt", "run out/", "explain smooth.rt -O1", "check broken.rt"):
        assert [c for c in shown if c.line.startswith(f"tempoc {start}")], start
    start = text_of("tempoc/manual/start.md")
    assert [b for b in blocks(readme()) if b in blocks(start)], "page `start` has its program"
    kernels = [b for b in blocks(readme()) if b.words[:2] == ("python", "smooth.rt")]
    assert kernels and "grad(" in readme()


@each_file
def test_blocks_say_what_they_are(name: str) -> None:
    assert {block.language for block in blocks(text_of(name))} <= LANGUAGES
    assert all(len(b.words) == 2 for b in blocks(text_of(name)) if b.language == "rt")


@each_file
def test_options_exist(name: str) -> None:
    context = click.Context(cli)
    parameters = [p for c in COMMANDS for p in getattr(cli.get_command(context, c), "params", ())]
    known = {option for p in parameters for option in (*p.opts, *p.secondary_opts)}
    found = set(re.findall(r"(?<![-\w])--[a-z][-a-z0-9]*(?![-a-z0-9]|\.{3})", text_of(name)))
    assert found <= known | OF_OTHERS


@each_file
def test_links_lead_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", text_of(name)):
        assert link.startswith("https://") or (ROOT / name).parent.joinpath(link).exists(), link


@pytest.mark.parametrize("name", GUIDES)
def test_paths_exist(name: str) -> None:
    """`passes/analysis/cost.py`, `golden/life/`: from the top, the compiler's folder, or here."""
    roots = (ROOT, ROOT / "tempoc", (ROOT / name).parent, (ROOT / name).parent / "rl")
    for path in re.findall(r"`((?:[\w.]+/)+(?:[\w]+\.(?:py|md|rt|txt))?)`", text_of(name)):
        built = path.startswith(("out/", "build/", "kept/"))
        assert built or any((root / path).exists() for root in roots), path


@each_file
def test_lines_fit(name: str) -> None:
    prose = re.sub(r"^```.*?^```$", "", text_of(name), flags=re.DOTALL | re.MULTILINE)
    long = [line for line in prose.splitlines() if len(line) > COLUMNS and line[:1] not in "|!"]
    assert long == []


def test_the_manual_has_these_pages() -> None:
    assert {path.stem for path in MANUAL.glob("*.md")} == set(PAGES)
    for page in PAGES:
        lines = text_of(f"tempoc/manual/{page}.md").splitlines()
        assert lines[0].startswith(f"# {page.capitalize()}: ") and len(lines) <= 100
        assert f"](tempoc/manual/{page}.md)" in readme()
