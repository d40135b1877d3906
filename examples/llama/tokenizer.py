"""The tokenizer of SmolLM2: byte-level BPE, rebuilt from what a GGUF file says about it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL = 3  # GGUF's token type of markers such as <|im_start|>


class Field(Protocol):
    def contents(self) -> object: ...


class Reader(Protocol):
    """As much of `gguf.GGUFReader` as is needed here."""

    fields: dict[str, Field]


def rebuild(reader: Reader) -> Tokenizer:
    """The tokenizer that the metadata of a GGUF file describes."""
    tokens, kinds, merges = (
        reader.fields[f"tokenizer.ggml.{name}"].contents()
        for name in ("tokens", "token_type", "merges")
    )
    vocabulary = {token: index for index, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    # Every digit is a token of its own; the rest is cut as GPT-2 does.
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    made.decoder = decoders.ByteLevel()
    markers = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    made.add_special_tokens([AddedToken(marker, normalized=False) for marker in markers])
    return made


def load(home: Path) -> Tokenizer:
    """The tokenizer that `fetch.py` left in `home`."""
    return Tokenizer.from_file(str(home / "tokenizer.json"))


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Token ids of a text, markers in it included, behind the one that begins all texts if any."""
    return list(tokenizer.encode(text).ids)


def decode(tokenizer: Tokenizer, ids: list[int]) -> str:
    """The text of token ids, markers included."""
    return str(tokenizer.decode(ids, skip_special_tokens=False))


class Words:
    """The tokenizer of a checkpoint: text to token ids and back."""

    def __init__(self, home: Path) -> None:
        self._tokenizer = load(home)

    def encode(self, text: str) -> list[int]:
        return encode(self._tokenizer, text)

    def decode(self, ids: list[int]) -> str:
        return decode(self._tokenizer, ids)
