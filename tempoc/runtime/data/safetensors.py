"""The safetensors format: eight bytes of length, a JSON header, the bytes of all tensors.

Written from the published description of the format. Data is read when it is used. Raises
``ValueError`` for anything that is not such a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from tempoc.runtime.data.dtypes import SAFETENSORS, HostArray, safetensors_tag
from tempoc.runtime.data.source import DataFile, TensorSource, array_bytes

_LENGTH = 8
_HEADER_LIMIT = 100 << 20


def open_safetensors(path: Path) -> dict[str, TensorSource]:
    """All tensors of a file. Raises ``OSError``; ``ValueError`` with the reason if damaged."""
    return open_data(DataFile(path))


def open_data(data: DataFile) -> dict[str, TensorSource]:
    """All tensors of a file. Raises ``OSError``; ``ValueError`` with the reason if damaged."""
    with data.open() as file:
        raw = _raw_header(file, data.size)
    header, start = _header(raw), _LENGTH + len(raw)
    tensors = {name: _source(name, entry, data, start) for name, entry in header.items()}
    spans = sorted((*header[name]["data_offsets"], name) for name in tensors)
    _check_cover(spans, data.size - start)
    return tensors


def _raw_header(file: BinaryIO, size: int) -> bytes:
    if size < _LENGTH:
        raise ValueError(f"it has {size} bytes, too few for a safetensors file")
    length = int.from_bytes(file.read(_LENGTH), "little")
    if length > _HEADER_LIMIT:
        raise ValueError("it is not a safetensors file")
    raw = file.read(length)
    if raw[:1] != b"{":
        raise ValueError("it is not a safetensors file")
    if len(raw) != length:
        raise ValueError(f"its header needs {_LENGTH + length} bytes, the file has {size}")
    return raw


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
    data = DataFile(path)
    with data.open() as file:
        metadata = _parsed(_raw_header(file, data.size)).get("__metadata__", {})
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
        header = json.loads(raw.decode(), object_pairs_hook=_unique)
    except _Twice as twice:
        raise ValueError(f"its header names {twice} twice") from None
    except (ValueError, RecursionError):
        raise ValueError("its header is not JSON") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return header


def _source(name: str, entry: Any, data: DataFile, body: int) -> TensorSource:
    match entry:
        case {"dtype": str(tag), "shape": list(axes), "data_offsets": [start, end]} if (
            type(start) is type(end) is int
        ):
            pass
        case _:
            raise ValueError(f"the header says nothing sensible about {name}")
    if tag not in SAFETENSORS:
        raise ValueError(f"{name} has the unknown dtype {tag}")
    dtype, shape = SAFETENSORS[tag], tuple(axes)
    try:
        size = array_bytes(shape, dtype)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if start < 0:
        raise ValueError(f"{name} begins at the impossible offset {start}")
    if end - start != size:
        raise ValueError(f"{name} needs {size} bytes, the header gives it {end - start}")
    if body + end > data.size:
        raise ValueError(f"it is truncated: {name} ends at byte {end} of {data.size - body}")

    def read() -> HostArray:
        return data.read(body + start, shape, dtype)

    return TensorSource(name=name, dtype=dtype, shape=shape, origin=str(data.path), read=read)


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
