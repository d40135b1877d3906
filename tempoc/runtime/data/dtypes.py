"""Names of dtypes: those of the language, of numpy, of safetensors files.

bfloat16 exists for numpy once ``ml_dtypes`` is loaded, which jax always brings along.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tempoc.program.nodes.dtypes import ELEMENTS

HostArray = np.ndarray[Any, Any]

NUMPY = {name: np.dtype(kind) for name, kind in ELEMENTS.items()}
_NUMBERS = {name: dtype for name, dtype in NUMPY.items() if name != "key"}
SAFETENSORS = {name.upper(): dtype for name, dtype in _NUMBERS.items()} | {
    "I8": np.dtype(np.int8), "U8": np.dtype(np.uint8), "I16": np.dtype(np.int16),
    "U16": np.dtype(np.uint16), "U64": np.dtype(np.uint64), "C64": np.dtype(np.complex64),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn), "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}  # fmt: skip
_LANGUAGE = {dtype: name for name, dtype in _NUMBERS.items()}
_TAGS = {dtype: tag for tag, dtype in SAFETENSORS.items()}

_ROUNDED = {("int64", "float64"), ("uint64", "float64")}


def language_name(dtype: np.dtype[Any]) -> str | None:
    """``f32`` for float32, whatever the byte order; ``None`` if the language lacks it."""
    return _LANGUAGE.get(dtype.newbyteorder("="))


def described(dtype: np.dtype[Any]) -> str:
    """Both names, ``f32 (float32)``, or numpy's alone."""
    name = language_name(dtype)
    return str(dtype) if name is None or name == str(dtype) else f"{name} ({dtype.name})"


def safetensors_tag(dtype: np.dtype[Any]) -> str | None:
    """The name in a safetensors file, if it has one."""
    return _TAGS.get(dtype)


def widens(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether every value of ``source`` is exactly a value of ``target``."""
    # numpy calls this one safe, but a float64 holds 53 bits.
    return bool(np.can_cast(source, target, "safe")) and (source.name, target.name) not in _ROUNDED
