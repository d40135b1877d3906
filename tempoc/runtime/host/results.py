"""Results of user functions as arrays of the declared types: nothing is cast.

Only Python's own numbers have no dtype of their own, and take the one that is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tempoc.program.nodes.functions import ArrayType, Extern
from tempoc.runtime.data.dtypes import NUMPY, HostArray, described
from tempoc.runtime.device import backend
from tempoc.runtime.host.failure import ExternFailure, raised, result_text
from tempoc.runtime.messages import run as errors

FLOATS = ("bf16", "f16", "f32", "f64")
_NUMBERS: dict[type, str] = {bool: "b", int: "iu", float: ""}
"""Python's own numbers, and the kinds of dtypes that each can be besides floats."""


def host_result(extern: Extern, type_: ArrayType, value: Any, shape: tuple[int, ...]) -> HostArray:
    """A copy of a result, in the byte order of this machine. Raises `ExternFailure`."""
    array: HostArray = _converted(extern, type_, value, np.array)
    _check_shape(extern, type_, array, shape)
    return array


def traced_result(extern: Extern, type_: ArrayType, value: Any, shape: tuple[int, ...]) -> Any:
    """A result (also while JAX traces) as an array of JAX. Raises `ExternFailure`."""
    array = _converted(extern, type_, value, backend.as_array)
    _check_shape(extern, type_, array, shape)
    return array


def _check_shape(extern: Extern, type_: ArrayType, array: Any, shape: tuple[int, ...]) -> None:
    if tuple(array.shape) != shape:
        actual, expected = errors.axes(array.shape), errors.axes(shape)
        text = f"{result_text(extern, type_)} has shape {actual}, expected {expected}"
        raise ExternFailure(extern.name, text)


def _converted(
    extern: Extern, type_: ArrayType, value: Any, array_of: Callable[[Any, np.dtype[Any]], Any]
) -> Any:
    """Everything here may call code of the user's: ``__array__``, the methods of a list."""
    dtype = NUMPY[type_.dtype]
    if type(value) is np.ndarray and value.dtype == dtype:
        return array_of(value, dtype)

    try:
        leaves = list(_leaves(extern, type_, value, len(type_.shape)))
        for leaf in leaves:
            _check_leaf(extern, type_, leaf)
        if all(type(leaf) in _NUMBERS for leaf in leaves):
            return array_of(_numbers(extern, type_, value), dtype)
        # JAX takes only arrays in the byte order of this machine.
        swapped = isinstance(value, np.ndarray) and not value.dtype.isnative
        return array_of(np.array(value, dtype) if swapped else value, dtype)
    except (ExternFailure, KeyboardInterrupt):
        raise
    except (TypeError, ValueError):
        raise _not_an_array(extern, type_, value) from None
    except BaseException as error:
        raise raised(extern, error) from error


def _leaves(extern: Extern, type_: ArrayType, value: Any, depth: int) -> Iterator[Any]:
    """What is in lists, at most ``depth`` in each other."""
    if not isinstance(value, list | tuple):
        yield value
        return
    if depth == 0:
        shape = f"{len(type_.shape)} {'axis' if len(type_.shape) == 1 else 'axes'}"
        text = f"{result_text(extern, type_)} has lists in lists, expected {shape}"
        raise ExternFailure(extern.name, text)
    for part in value:
        yield from _leaves(extern, type_, part, depth - 1)


def _check_leaf(extern: Extern, type_: ArrayType, leaf: Any) -> None:
    """Whether an array or a number is of the declared dtype. Raises `ExternFailure`."""
    expected = NUMPY[type_.dtype]
    result = result_text(extern, type_)
    if type(leaf) in _NUMBERS:
        is_float = type_.dtype in FLOATS and type(leaf) is not bool
        if not is_float and expected.kind not in _NUMBERS[type(leaf)]:
            kind = type(leaf).__name__
            text = f"{result} is {_short(leaf)}, a Python {kind}, expected {type_.dtype}"
            raise _uncast(extern, text, expected)
        return
    if isinstance(leaf, np.ma.MaskedArray):
        text = f"{result} is a masked array, whose masked elements have no value"
        raise ExternFailure(extern.name, text, help="give its elements values with filled()")
    try:
        dtype = np.dtype(leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype)
    except (TypeError, ValueError):
        raise _not_an_array(extern, type_, leaf) from None
    if dtype.kind in "OUSMm" or dtype.names is not None:
        raise _not_an_array(extern, type_, leaf)
    if dtype.newbyteorder("=") != expected:
        text = f"{result} has dtype {described(dtype)}, expected {type_.dtype}"
        raise _uncast(extern, text, expected)


def _numbers(extern: Extern, type_: ArrayType, value: Any) -> HostArray:
    """Python's own numbers as an array. Raises `ExternFailure` for those that do not fit."""
    dtype = NUMPY[type_.dtype]
    try:
        with np.errstate(all="ignore"):
            array: HostArray = np.array(value, dtype)
            if type_.dtype not in FLOATS or np.isfinite(array).all():
                return array
            if np.array_equal(np.isfinite(np.array(value, np.float64)), np.isfinite(array)):
                return array
    except OverflowError:
        pass
    text = f"{result_text(extern, type_)} is {_short(value)}, which {type_.dtype} cannot hold"
    raise ExternFailure(extern.name, text)


def _uncast(extern: Extern, text: str, expected: np.dtype[Any]) -> ExternFailure:
    help = f"nothing is cast: make it {expected.name} in the function"
    return ExternFailure(extern.name, text, help=help)


def _not_an_array(extern: Extern, type_: ArrayType, value: Any) -> ExternFailure:
    dtype = value.dtype if isinstance(value, np.ndarray | np.generic) else None
    kind = type(value).__name__ if dtype is None else f"of dtype {dtype}"
    text = f"{result_text(extern, type_)} is {kind}, not an array of numbers"
    return ExternFailure(extern.name, text)


def _short(value: Any) -> str:
    """A number, or numbers, in a few words; Python refuses to write out very long ones."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of many digits"
    return text if len(text) <= 40 else f"{text[:40]}..."
