"""Every numbered example, stage by stage: the whole compiler on a page (`golden/life/`)."""

from __future__ import annotations

import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.stages import STAGES, SUFFIX, stage_text
from tests.support.examples import EXAMPLES, ROOT, Example
from tests.support.golden import Golden


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_life_of_an_example(
    example: Example, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)  # so that texts name the program as a person in the checkout does
    source = example.source.relative_to(ROOT).as_posix()
    compilation = Compilation.from_path(source, Options())
    for number, stage in enumerate(STAGES, 1):
        name = f"life/{example.name}/{number}_{stage}.{SUFFIX.get(stage, 'txt')}"
        golden(name, stage_text(compilation, stage))
