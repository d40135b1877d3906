"""Weights in several files: a folder of ``.safetensors`` files, or the index that names them.

An index (``model.safetensors.index.json``) says in ``weight_map`` which file beside it holds which
tensor. Of a folder that index is taken, or ``model.safetensors``, or all of its files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tempoc.runtime.data.source import TensorSource

INDEX = ".safetensors.index.json"
_WHOLE = "model.safetensors"
_INDEX_LIMIT = 100 << 20

Shard = Callable[[Path], dict[str, TensorSource]]


def files_of_folder(folder: Path) -> list[Path]:
    """What to open of a folder: one index, one whole file, or all files, sorted by name.

    Raises ``OSError``; ``ValueError`` if none is there, or more than one index.
    """
    names = sorted(path.name for path in folder.iterdir())
    indices = [name for name in names if name.endswith(INDEX)]
    if _WHOLE in names:
        return [folder / _WHOLE]
    if len(indices) > 1:
        raise ValueError(f"it holds {' and '.join(indices)}; name one of them")
    chosen = indices or [name for name in names if name.endswith(".safetensors")]
    if not chosen:
        raise ValueError("it holds no .safetensors file")
    return [folder / name for name in chosen]


def read_index(path: Path, shard: Shard) -> dict[str, TensorSource]:
    """All tensors that an index names, each from its file (opened by ``shard``).

    Raises ``OSError``; ``ValueError`` with the reason if it is not an index, or a file lacks a
    tensor that it should hold.
    """
    places = _weight_map(path)
    opened = {name: shard(path.parent / name) for name in dict.fromkeys(places.values())}
    for tensor, name in places.items():
        if tensor not in opened[name]:
            raise ValueError(f"it says that {name} holds {tensor}, which is not there")
    return {tensor: opened[name][tensor] for tensor, name in places.items()}


def _weight_map(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        raw = file.read(_INDEX_LIMIT + 1)
    try:
        index = json.loads(raw.decode()) if len(raw) <= _INDEX_LIMIT else None
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict):
        raise ValueError("it is no index: it has no object weight_map")
    for tensor, name in places.items():
        if not isinstance(name, str) or Path(name).name != name or not name:
            raise ValueError(f"it puts {tensor} into {name!r}, which is no file beside it")
    return places
