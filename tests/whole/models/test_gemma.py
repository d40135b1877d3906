"""Gemma 3 270M, compiled, gives the tokens that transformers gives, within a window and beyond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tempoc.cli.main import status
from tests.support.examples import ROOT, load

HOME = ROOT / "build" / "gemma"
WEIGHTS = HOME / "model.safetensors"
REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "gemma3_reference.json").read_text())
LONG = REFERENCE["long"]

pytestmark = [
    pytest.mark.usefixtures("with_runner"),
    pytest.mark.skipif(not WEIGHTS.is_file(), reason="`python examples/gemma/fetch.py`"),
]


@pytest.fixture(scope="module")
def chat() -> Any:
    pytest.importorskip("tokenizers")
    return load(ROOT / "examples" / "llama" / "chat.py")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gemma") / "out"
    source = str(ROOT / "examples" / "gemma" / "model.rt")
    config = ["--config", str(HOME / "config.json")]
    assert status(["compile", source, *config, "-o", str(folder)]) == 0
    return folder


def test_the_tokenizer_agrees(chat: Any) -> None:
    words = chat.tokenizer.load(HOME)
    for row in REFERENCE["rows"]:
        assert chat.tokenizer.encode(words, row["text"]) == row["ids"]
        assert chat.tokenizer.decode(words, row["ids"]) == "<bos>" + row["text"]
    text = (ROOT / LONG["from"]).read_text(encoding="utf-8")[: LONG["characters"]]
    assert chat.tokenizer.encode(words, text) == LONG["ids"]


def test_texts_of_different_lengths(chat: Any, out: Path) -> None:
    prompts = [row["ids"] for row in REFERENCE["rows"]]
    tokens = [row["tokens"] for row in REFERENCE["rows"]]
    assert chat.decode(out, WEIGHTS, prompts, 24) == tokens


@pytest.mark.long("a long prompt")
def test_a_text_longer_than_a_window(chat: Any, out: Path) -> None:
    assert len(LONG["ids"]) > 512
    assert chat.decode(out, WEIGHTS, [LONG["ids"]], 12) == [LONG["tokens"][:12]]
