"""The programs in the language reference parse and are in canonical style, comments aside."""

import re

import pytest

from tempoc.base.resources import grammar_folder
from tempoc.diagnostics.source import Source
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.parse import parse

TEXT = (grammar_folder() / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```rt\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == TEXT.count("```rt") > 3


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_reference_are_well_written(program: str) -> None:
    written = format_module(parse(Source("README.md", program)))
    assert _without_margins(written) == _without_margins(program)


def _without_margins(text: str) -> str:
    return re.sub(r" +#", "  #", text)


def test_every_keyword_is_listed() -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith("| keywords |"))
    listed = row.split("`")[1].split()
    spelled = {word for part in ("expr", "rt") for word in _words(part)}
    assert sorted(listed) == sorted(spelled)


def _words(part: str) -> list[str]:
    grammar = (grammar_folder() / f"{part}.lark").read_text(encoding="utf-8")
    return re.findall(r'"([a-z]+)"', re.sub(r"//[^\n]*", "", grammar))
