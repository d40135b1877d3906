"""Every example, stage by stage: the whole compiler on a page (`golden/life/`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.equations import story
from tempoc.driver.report.equations_text import show_story
from tempoc.driver.report.stages import STAGES, SUFFIX, stage_text
from tests.support.examples import EXAMPLES, ROOT, compiled
from tests.support.golden import Golden

SOURCES = {example.name: example.source for example in EXAMPLES}
SOURCES["llama"] = ROOT / "examples" / "llama" / "model.rt"
SOURCES["gru"] = ROOT / "examples" / "characters" / "gru.rt"
SOURCES["write"] = ROOT / "examples" / "characters" / "write.rt"
SOURCES["recite"] = ROOT / "examples" / "characters" / "recite.rt"
SOURCES["moons"] = ROOT / "examples" / "diffusion" / "moons.rt"
DATA = ROOT / "tests" / "whole" / "data" / "shapes"
SHAPES = {
    "attention": ROOT / "examples" / "07_causal_attention.rt",
    "returns": DATA / "returns.rt",
    "training": DATA / "training.rt",
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_life_of_an_example(name: str, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # so that texts name the program as a person in the checkout does
    source = SOURCES[name].relative_to(ROOT)
    compilation = compiled(SOURCES[name])
    golden(f"life/{name}/0_source.rt", Path(source).read_text(encoding="utf-8"))
    assert compilation.proof.is_whole
    for number, stage in enumerate(STAGES, 1):
        file = f"{number}_{stage}.{SUFFIX.get(stage, 'txt')}"
        golden(f"life/{name}/{file}", stage_text(compilation, stage))


@pytest.mark.parametrize("name", ["reinforce", "gym", "a2c", "ppo", "dqn", "breakout"])
def test_when_and_where_of_training(
    name: str, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    compilation = compiled(ROOT / "examples" / "rl" / f"{name}.rt")
    assert compilation.proof.is_whole
    for stage in ("schedule", "memory"):
        golden(f"life/rl/{name}_{stage}.txt", stage_text(compilation, stage))


def test_schedule_and_kernels_are_the_same_for_2_and_30_layers() -> None:
    few, many = (
        Compilation.from_path(str(SOURCES["llama"]), Options(defines={"L": layers}, regions=False))
        for layers in ("2", "30")
    )
    for stage in ("schedule", "kernels"):
        assert stage_text(few, stage) == stage_text(many, stage)


@pytest.mark.parametrize("name", SHAPES)
def test_how_a_program_changes_its_shape(
    name: str, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    source = SHAPES[name].relative_to(ROOT)
    compilation = compiled(SHAPES[name])
    parts = (
        source.read_text(encoding="utf-8"),
        stage_text(compilation, "passes"),
        f"# schedule\n\n{stage_text(compilation, 'schedule')}",
        f"# remarks\n\n{show_story(story(compilation), source.as_posix())}",
    )
    golden(f"life/passes/{name}.txt", "\n".join(parts))
