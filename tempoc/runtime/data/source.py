"""Lazy tensors: name, dtype and shape are known, the data is read on demand."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.files.reading import open_file
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.messages import run as errors

_MOST_AXES = 32
_CHUNK = 1 << 24


class TensorSource(NamedTuple):
    """A tensor somewhere; ``origin`` is the file it comes from, empty for arrays in memory.

    ``array`` is the tensor itself if the device holds it already: then ``read`` copies it.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    origin: str
    read: Callable[[], HostArray]
    array: Any = None


def in_memory(name: str, value: object, what: str = "tensor") -> TensorSource:
    """An array (or anything NumPy makes one of) as a source. Raises ``RunError``."""
    try:
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError("masked elements have no value")
        array = as_array(value)
    except Exception as error:
        reason = (str(error) or type(error).__name__).split("\n")[0].rstrip(".")
        raise RunError(errors.no_array(what, name, reason)) from None
    return TensorSource(name, array.dtype, array.shape, "", lambda: array)


def as_array(value: Any) -> HostArray:
    """NumPy's array of a value, by DLPack if it offers nothing else. Raises what the value does."""
    alone = hasattr(value, "__dlpack__") and not hasattr(value, "__array__")
    return (np.from_dlpack if alone else np.asarray)(value)


def as_sources(
    values: Mapping[str, object],
    what: str = "tensor",
    on_device: Callable[[object], Any] = lambda value: None,
) -> dict[str, TensorSource]:
    """Arrays by name as sources; what is a source already stays. Raises ``RunError``.

    ``what`` they are to the program: each an input, or a param. ``on_device`` gives the array of
    the device that a value is, or ``None``.
    """
    sources = {}
    for name, value in by_name(values, what).items():
        if isinstance(value, TensorSource):
            sources[name] = value
        elif (array := on_device(value)) is not None:
            read = partial(np.asarray, array)
            sources[name] = TensorSource(name, array.dtype, array.shape, "", read, array)
        else:
            sources[name] = in_memory(name, value, what)
    return sources


def by_name(values: object, what: str) -> Mapping[str, Any]:
    """What the caller gives, which must be a mapping from names. Raises ``RunError``."""
    if not isinstance(values, Mapping):
        raise RunError(errors.not_by_name(what, type(values).__name__))
    for name in values:
        if not isinstance(name, str):
            raise RunError(errors.no_name(what, repr(name)))
    return values


# ------------------------------------------------------------------ in files


class DataFile:
    """A file with tensors, which are read later: it has to stay as it is until then.

    It is read, not mapped: the pages of a map change with the file, and are gone if it is cut off.
    """

    def __init__(self, path: Path) -> None:
        """Look at a file. Raises ``OSError``."""
        self.path = path
        with open_file(path) as file:
            self.state = _state(file)
        self.size = self.state[0]

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The file. Raises ``OSError``; ``ValueError`` if it is or becomes another one."""
        with open_file(self.path) as file:
            same = _state(file) == self.state
            if same:
                yield file
            if not same or _state(file) != self.state:
                raise ValueError("it was changed while it was read")

    def read(self, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
        """The array whose bytes begin at ``start``. Raises ``OSError`` and ``ValueError``."""
        with self.open() as file:
            file.seek(start)
            return read_array(file, shape, dtype)


def _state(file: BinaryIO) -> tuple[int, ...]:
    now = os.fstat(file.fileno())
    return now.st_size, now.st_mtime_ns, now.st_dev, now.st_ino


def array_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """The number of bytes of an array. Raises ``ValueError`` if there can be no such array."""
    if not all(type(n) is int and 0 <= n < 2**63 for n in shape[:_MOST_AXES]):
        raise ValueError("the shape is impossible")
    # numpy multiplies axes without those that are 0.
    if len(shape) > _MOST_AXES or math.prod(filter(None, shape)) * dtype.itemsize >= 2**63:
        raise ValueError("the shape is too large")
    return math.prod(shape) * dtype.itemsize


def read_array(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """The array, in the machine's order of bytes, that a file goes on with.

    Raises ``ValueError`` if the file ends before, and for truth values that are not 0 or 1.
    """
    content = np.empty(array_bytes(shape, dtype), np.uint8)
    for start in range(0, content.size, _CHUNK):
        part = content[start : start + _CHUNK].data
        if file.readinto(part) != len(part):  # type: ignore[attr-defined]
            raise ValueError("it is truncated")
    if dtype == np.bool_ and content.max(initial=0) > 1:
        raise ValueError("it has truth values other than 0 and 1")
    array: HostArray = content.view(dtype).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)
