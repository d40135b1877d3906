"""Tensor files: ``.npy``, ``.npz``, ``.safetensors``. Reading is lazy, writing is durable.

All failures become ``RunError`` with the path and the reason.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from tempoc.diagnostics.diagnostic import RunError
from tempoc.files.below import FileIdentity, existing_below, replace_below
from tempoc.files.durable import make_folder, probe, replace_file
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.data.npy import open_npy, open_npz
from tempoc.runtime.data.safetensors import open_data, write_safetensors
from tempoc.runtime.data.shards import INDEX, files_of_folder, read_index
from tempoc.runtime.data.source import DataFile, TensorSource
from tempoc.runtime.messages import run as errors

FileWriter = Callable[[BinaryIO], object]
SUFFIXES = (".npy", ".npz", ".safetensors")
BUNDLES = (".npz", ".safetensors")
_READERS: dict[str, Callable[[DataFile], dict[str, TensorSource]]] = {
    ".npy": open_npy, ".npz": open_npz, ".safetensors": open_data,
}  # fmt: skip


def open_bundle(path: str | Path) -> dict[str, TensorSource]:
    """All tensors of an ``.npz`` or ``.safetensors`` file by name. Raises ``RunError``."""
    return _opened(Path(path), BUNDLES)


def open_weights(path: str | Path) -> dict[str, TensorSource]:
    """All tensors of a file, of a folder of ``.safetensors`` files, or of an index of such files.

    Raises ``RunError``, also if two files of a folder hold a tensor of one name.
    """
    path = Path(path)
    if path.name.endswith(INDEX):
        with _reading(path):
            return read_index(path, open_bundle)
    if not path.is_dir():
        return open_bundle(path)
    with _reading(path):
        chosen = files_of_folder(path)
    tensors: dict[str, TensorSource] = {}
    for file in chosen:
        for name, source in open_weights(file).items():
            if name in tensors:
                raise RunError(errors.several_files(name, tensors[name].origin, str(file)))
            tensors[name] = source
    return tensors


def open_tensor(name: str, path: str | Path) -> TensorSource:
    """The tensor ``name`` of a file, or the file's only tensor. Raises ``RunError``."""
    tensors = _opened(Path(path), SUFFIXES)
    if name in tensors:
        return tensors[name]
    if len(tensors) != 1:
        raise RunError(errors.not_in_file(name, str(path), list(tensors)))
    return next(iter(tensors.values()))


def _opened(path: Path, suffixes: Sequence[str]) -> dict[str, TensorSource]:
    if path.suffix not in suffixes:
        if not (path.suffix or path.exists()):
            raise RunError(errors.no_file(str(path)))
        raise RunError(errors.unknown_suffix(str(path), suffixes, path.suffix in SUFFIXES))
    with _reading(path):
        tensors = _READERS[path.suffix](DataFile(path))
    return {name: t._replace(read=_guarded(path, t.read)) for name, t in tensors.items()}


def _guarded(path: Path, read: Callable[[], HostArray]) -> Callable[[], HostArray]:
    def guarded() -> HostArray:
        with _reading(path):
            return read()

    return guarded


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Report what is wrong with a file as ``RunError``."""
    try:
        yield
    except FileNotFoundError:
        raise RunError(errors.no_file(str(path))) from None
    except MemoryError:
        raise RunError(errors.unreadable(str(path), "it needs more memory than there is")) from None
    except (OSError, ValueError) as error:
        raise RunError(errors.unreadable(str(path), _reason(error))) from None


def _reason(error: Exception) -> str:
    if isinstance(error, FileExistsError):
        return "it is a file"
    if isinstance(error, NotADirectoryError):
        return "a part of its path is a file"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text or type(error).__name__).rstrip(".").split("\n")[0]


# ------------------------------------------------------------------ writing


def check_writable(directory: str | Path, create: bool) -> None:
    """Fail now rather than after hours: the directory exists (or is made) and can be written to."""
    directory = Path(directory)
    try:
        if create:
            make_folder(directory)
        probe(directory)
    except OSError as error:
        raise RunError(errors.unwritable(str(directory), _reason(error))) from None


def check_file(path: str | Path) -> None:
    """Fail now: the directory exists and the file can be made there."""
    if Path(path).is_dir():
        raise RunError(errors.unwritable(str(path), "it is a directory"))
    check_writable(Path(path).parent, create=False)


def write_arrays(path: str | Path, arrays: Mapping[str, HostArray]) -> None:
    """Write all arrays to an ``.npz`` or ``.safetensors`` file."""
    _replace(Path(path), _bundle_writer(path, arrays))


def _bundle_writer(path: str | Path, arrays: Mapping[str, HostArray]) -> FileWriter:
    suffix = Path(path).suffix
    if suffix not in BUNDLES:
        raise RunError(errors.unknown_suffix(str(path), BUNDLES))
    write = _write_npz if suffix == ".npz" else write_safetensors
    return lambda file: write(file, arrays)


class OutputFolder:
    """A directory into which a run writes each file once, and nothing outside of it."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.made: dict[FileIdentity, str] = {}

    def write(self, path: str, arrays: Mapping[str, HostArray] | HostArray) -> None:
        """Write arrays by name, or a single one, making folders on the way. Raises ``RunError``."""
        writer = (
            _bundle_writer(path, arrays) if isinstance(arrays, Mapping) else _array_writer(arrays)
        )
        try:
            make_folder(self.directory)
            # Names that differ by case may be one file.
            there = existing_below(self.directory, path)
            if there in self.made:
                raise RunError(errors.saved_twice(f"{path} (or {self.made[there]})"))
            self.made[replace_below(self.directory, path, writer)] = path
        except (OSError, ValueError) as error:
            where = str(self.directory / path)
            raise RunError(errors.unwritable(where, _reason(error))) from None


def _array_writer(array: HostArray) -> FileWriter:
    """Writes one array as ``.npy``; bfloat16, which the format lacks, becomes float32."""
    return lambda file: npy.write_array(file, _storable(array), allow_pickle=False)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file in one go."""
    _replace(Path(path), lambda file: file.write(content))


def _storable(array: HostArray) -> HostArray:
    return array.astype(np.float32) if array.dtype == NUMPY["bf16"] else array


def _write_npz(file: BinaryIO, arrays: Mapping[str, HostArray]) -> None:
    # Not np.savez, whose own parameter names (`file`) are not available for arrays.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, _storable(array), allow_pickle=False)


def _replace(path: Path, write: FileWriter) -> None:
    try:
        replace_file(path, write)
    except (OSError, ValueError) as error:
        raise RunError(errors.unwritable(str(path), _reason(error))) from None
