"""NumPy's formats: ``.npy``, and ``.npz``, a zip file of those.

Written from the published description (``numpy.lib.format``). The header of an ``.npy`` file is the
text of a Python dictionary, which numpy evaluates; here it has to look as all known programs write
it. Raises ``ValueError`` for anything that is not such a file.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np

from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.data.source import DataFile, TensorSource, array_bytes, read_array

_HEADER_LIMIT = 10_000
_RATIO = 1100
"""More bytes than this for one compressed byte are a lie (deflate: 1032)."""
_ENTRY = re.compile(
    r"'(descr|fortran_order|shape)'\s*:\s*('[^'\\]*'|\[.*?\](?=\s*[,}]\s*'?)|True|False|\([\d,\sL]*\))"
    r"\s*(?:,\s*|(?=\}))",
    re.ASCII,
)
_DESCR = re.compile(r"'([<>|=]?)(\w+)'", re.ASCII)
_AXES = re.compile(r"\((?:(?:\d{1,19}L?\s*,\s*)+(?:\d{1,19}L?\s*)?)?\)", re.ASCII)
_NUMBERS = {
    code: np.dtype(code)
    for code in (
        "b1",
        "i1",
        "i2",
        "i4",
        "i8",
        "u1",
        "u2",
        "u4",
        "u8",
        "f2",
        "f4",
        "f8",
        "c8",
        "c16",
    )
}
# numpy has no bfloat16: its two bytes come back as a nameless type.
_NUMBERS["V2"] = NUMPY["bf16"]
_NO_NUMBER = np.dtype("V")


class _Header(NamedTuple):
    """What a header says; ``start`` is the offset of the data."""

    descr: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_transposed: bool
    start: int

    @property
    def is_number(self) -> bool:
        return self.dtype != _NO_NUMBER

    def check(self, size: int) -> None:
        """Compare with the bytes of the file. Raises ``ValueError``."""
        if not self.is_number:
            is_object = self.descr in ("'O'", "'|O'")
            what = "Python objects" if is_object else f"elements of type {self.descr:.40}"
            raise ValueError(f"it holds {what}, not numbers")
        announced = self.start + array_bytes(self.shape, self.dtype)
        if announced != size:
            what = "is truncated" if announced > size else "goes on after its data"
            raise ValueError(f"it {what}: {announced} bytes are announced, there are {size}")

    def read(self, file: IO[bytes]) -> HostArray:
        """The data, from ``start`` on."""
        shape = self.shape[::-1] if self.is_transposed else self.shape
        array = read_array(file, shape, self.dtype)
        return array.T if self.is_transposed else array


def open_npy(data: DataFile) -> dict[str, TensorSource]:
    """The tensor of an ``.npy`` file. Raises ``ValueError`` and ``OSError``."""
    with data.open() as file:
        header = _header(file)
        header.check(data.size)

    def read() -> HostArray:
        with data.open() as file:
            file.seek(header.start)
            return header.read(file)

    name = data.path.stem
    return {name: TensorSource(name, header.dtype, header.shape, str(data.path), read)}


def open_npz(data: DataFile) -> dict[str, TensorSource]:
    """The tensors of an ``.npz`` file. Raises ``ValueError`` and ``OSError``."""
    tensors: dict[str, TensorSource] = {}
    with data.open() as whole, _unzipping(), zipfile.ZipFile(whole) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name in tensors:
                raise _Damage(f"it holds {name} twice")
            if name == info.filename:
                continue
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _Damage(f"{name} is compressed in another way than numpy does it")
            if info.file_size > _RATIO * info.compress_size:
                raise _Damage(f"its sizes for {name} are impossible")
            with archive.open(info) as file:
                header = _named(name, file, info.file_size)
            read = _reader(data, info)
            tensors[name] = TensorSource(name, header.dtype, header.shape, str(data.path), read)
    return tensors


class _Damage(ValueError):
    """What is wrong with a file, in our words."""


@contextmanager
def _unzipping() -> Iterator[None]:
    # There is no list of what zipfile and those that it calls raise for damaged files.
    try:
        yield
    except (OSError, MemoryError, _Damage):
        raise
    except Exception:
        raise ValueError("it is damaged, or no .npz file") from None


def _named(name: str, file: Any, size: int) -> _Header:
    try:
        header = _header(file)
        if header.is_number:
            header.check(size)
    except ValueError as error:
        raise _Damage(f"{name}: {error}") from None
    return header


def _reader(data: DataFile, info: zipfile.ZipInfo) -> Any:
    def read() -> HostArray:
        with data.open() as whole, _unzipping(), zipfile.ZipFile(whole).open(info) as file:
            header = _header(file)
            header.check(info.file_size)
            array = header.read(file)
            # At the end, and not before, the sum of the bytes is compared.
            file.read(1)
            return array

    return read


def _header(file: IO[bytes]) -> _Header:
    """Read a header. Raises ``ValueError``."""
    magic = file.read(8)
    if magic[:6] != b"\x93NUMPY":
        raise ValueError("it is not an .npy file")
    width = {b"\x01\x00": 2, b"\x02\x00": 4, b"\x03\x00": 4}.get(magic[6:])
    if width is None:
        raise ValueError("it has a version of the format that does not exist")
    length = int.from_bytes(file.read(width), "little")
    text = file.read(min(length, _HEADER_LIMIT)).decode("latin-1")
    entries, end = {}, 1
    while match := _ENTRY.match(text, end):
        entries[match[1]], end = match[2], match.end()
    descr, order, axes = (entries.get(k, "") for k in ("descr", "fortran_order", "shape"))
    forms = descr[:1] in ("'", "["), order in ("True", "False"), _AXES.fullmatch(axes)
    complete = len(text) == length and text[:1] == "{" and text[end:].rstrip() == "}"
    if not (complete and all(forms)):
        raise ValueError("its header is damaged")
    shape = tuple(int(n.rstrip("L ")) for n in axes[1:-1].split(",") if n.strip())
    return _Header(descr, _dtype(descr), shape, order == "True", 8 + width + length)


def _dtype(descr: str) -> np.dtype[Any]:
    """The dtype of a ``descr``, ``_NO_NUMBER`` if it is another one."""
    match = _DESCR.fullmatch(descr)
    if match is None or match[2] not in _NUMBERS:
        return _NO_NUMBER
    dtype = _NUMBERS[match[2]]
    return dtype.newbyteorder(">") if match[1] == ">" and dtype.kind in "iufc" else dtype
