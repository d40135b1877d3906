"""The safetensors format: eight bytes of length, a JSON header, the bytes of all tensors.

Written from the published description of the format. Reading maps the file into memory, so that
opening half a gigabyte takes no time; data is copied when it is used. Raises ``ValueError`` for
anything that is not such a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from tempoc.runtime.data.dtypes import SAFETENSORS, HostArray, safetensors_tag
from tempoc.runtime.data.source import TensorSource

_LENGTH = 8
_HEADER_LIMIT = 100 << 20


def open_safetensors(path: Path) -> dict[str, TensorSource]:
    """All tensors of a file. Raises ``ValueError`` with the reason if it is damaged."""
    size = path.stat().st_size
    if size < _LENGTH:
        raise ValueError(f"it has {size} bytes, too few for a safetensors file")
    data: HostArray = np.memmap(path, np.uint8, "r")
    length = int.from_bytes(data[:_LENGTH].tobytes(), "little")
    if length > _HEADER_LIMIT or data[_LENGTH : _LENGTH + 1].tobytes() != b"{":
        raise ValueError("it is not a safetensors file")
    if _LENGTH + length > size:
        raise ValueError(f"its header needs {_LENGTH + length} bytes, the file has {size}")
    header = _header(data[_LENGTH : _LENGTH + length].tobytes())
    body = data[_LENGTH + length :]
    tensors = {name: _source(name, entry, body, path) for name, entry in header.items()}
    _check_cover(sorted((*header[name]["data_offsets"], name) for name in tensors), body.size)
    return tensors


def _check_cover(spans: Sequence[tuple[int, int, str]], size: int) -> None:
    """Every byte belongs to one tensor, as the format demands. Raises ``ValueError``."""
    last, covered = "", 0
    for start, end, name in spans:
        if start == end:
            continue
        if start < covered:
            raise ValueError(f"{last} and {name} share bytes, from {start} on")
        if start > covered:
            raise ValueError(f"its bytes from {covered} to {start} belong to no tensor")
        last, covered = name, end
    if covered < size:
        raise ValueError(f"its bytes from {covered} to {size} belong to no tensor")


def read_metadata(path: Path) -> dict[str, str]:
    """The texts that a file has beside its tensors. Raises ``ValueError``."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if length > min(_HEADER_LIMIT, path.stat().st_size):
            raise ValueError("it is not a safetensors file")
        metadata = _parsed(file.read(length)).get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("its metadata are not texts")
    return metadata


def _header(raw: bytes) -> dict[str, Any]:
    header = _parsed(raw)
    header.pop("__metadata__", None)
    return header


class _Twice(Exception):
    """A name that stands twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise _Twice(name)
        result[name] = value
    return result


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        header = json.loads(raw, object_pairs_hook=_unique)
    except _Twice as twice:
        raise ValueError(f"its header names {twice} twice") from None
    except (ValueError, RecursionError):
        raise ValueError("its header is not JSON") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return header


def _source(name: str, entry: Any, body: HostArray, path: Path) -> TensorSource:
    match entry:
        case {"dtype": str(tag), "shape": list(shape), "data_offsets": [int(start), int(end)]}:
            pass
        case _:
            raise ValueError(f"the header says nothing sensible about {name}")
    if tag not in SAFETENSORS:
        raise ValueError(f"{name} has the unknown dtype {tag}")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"{name} has the impossible shape {shape}")
    dtype = SAFETENSORS[tag]
    size = math.prod(shape) * dtype.itemsize
    if start < 0:
        raise ValueError(f"{name} begins at the impossible offset {start}")
    if end - start != size:
        raise ValueError(f"{name} needs {size} bytes, the header gives it {end - start}")
    if end > body.size:
        raise ValueError(f"it is truncated: {name} ends at byte {end} of {body.size}")

    def read() -> HostArray:
        # Offsets need not be aligned; a view of bytes does not care, a copy follows anyway.
        array: HostArray = body[start:end].view(dtype).reshape(shape)
        return array

    return TensorSource(name=name, dtype=dtype, shape=tuple(shape), origin=str(path), read=read)


def write_safetensors(
    file: BinaryIO,
    tensors: Mapping[str, HostArray],
    metadata: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write tensors, in the order given, and texts beside them.

    Raises ``ValueError`` for a dtype the format lacks.
    """
    if "__metadata__" in tensors:
        raise ValueError("no tensor in a safetensors file may be called __metadata__")
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for name, array in tensors.items():
        tag = safetensors_tag(array.dtype)
        if tag is None:
            raise ValueError(f"{name} is {array.dtype}, which safetensors files do not hold")
        span = [offset, offset + array.nbytes]
        header[name] = {"dtype": tag, "shape": list(array.shape), "data_offsets": span}
        offset += array.nbytes
    raw = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    raw += b" " * (-len(raw) % _LENGTH)
    file.write(len(raw).to_bytes(_LENGTH, "little") + raw)
    for array in tensors.values():
        file.write(np.ascontiguousarray(array).tobytes())
