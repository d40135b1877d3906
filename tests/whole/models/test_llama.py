"""SmolLM2-135M, compiled, gives the tokens that other programs give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tempoc.cli.main import status
from tests.support.examples import ROOT, load

HOME = ROOT / "build" / "llama"
WEIGHTS = HOME / "model.safetensors"
REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "smollm2_reference.json").read_text())

pytestmark = [
    pytest.mark.usefixtures("with_runner"),
    pytest.mark.skipif(not WEIGHTS.is_file(), reason="`make build/llama/model.safetensors`"),
]


def rows(window: int) -> list[tuple[list[int], list[int]]]:
    """Prompts and the tokens that follow, for this window."""
    return [
        (REFERENCE["prompts"][row["prompt"]]["ids"], row["tokens"])
        for row in REFERENCE["rows"]
        if row["window"] == window
    ]


@pytest.fixture(scope="module")
def chat() -> Any:
    pytest.importorskip("tokenizers")
    return load(ROOT / "examples" / "llama" / "chat.py")


def compiled(folder: Path, *options: str) -> Path:
    source = ROOT / "examples" / "llama" / "model.rt"
    assert status(["compile", str(source), "-o", str(folder), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("llama") / "out")


def test_the_tokenizer_agrees(chat: Any) -> None:
    words = chat.tokenizer.load(HOME)
    for prompt in REFERENCE["prompts"].values():
        assert chat.tokenizer.encode(words, prompt["text"]) == prompt["ids"]
        assert chat.tokenizer.decode(words, prompt["ids"]) == prompt["text"]


@pytest.mark.long("three texts are more")
def test_one_text_alone(chat: Any, out: Path) -> None:
    prompt, tokens = rows(0)[0]
    assert chat.decode(out, WEIGHTS, [prompt], 12) == [tokens[:12]]


@pytest.mark.long("real weights: tiny_llama has such texts")
def test_three_texts_of_different_lengths(chat: Any, out: Path) -> None:
    prompts, tokens = zip(*rows(0), strict=True)
    assert len({len(prompt) for prompt in prompts}) == 3
    assert chat.decode(out, WEIGHTS, list(prompts), 20) == [row[:20] for row in tokens]


@pytest.mark.long("a variant of the model")
def test_a_window(chat: Any, tmp_path: Path) -> None:
    out = compiled(tmp_path / "out", "-D", "window=16")
    prompt, tokens = rows(16)[0]
    assert chat.decode(out, WEIGHTS, [prompt], 16) == [tokens[:16]]
