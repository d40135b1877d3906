"""Kernels as forms: traced, and as functions of padded arrays and a length."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from tempoc.runtime.rewriting.lengths.form import Form, FormConstant, UnlikeError, form_of
from tempoc.runtime.rewriting.lengths.padded import PaddedFunction
from tempoc.runtime.rewriting.lengths.padding import Padding

CompiledFunction = Callable[..., Any]
Shapes = list[tuple[int, ...]]


class TracedKernel(NamedTuple):
    """What JAX traced, and the structure of its results."""

    closed: ClosedJaxpr
    results: Any


def arguments_of(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Shapes and dtypes of arguments. Raises ``UnlikeError`` while JAX traces."""
    if any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(arrays)):
        raise UnlikeError
    described = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), tuple(arrays))
    return tuple(described)


def shapes_of(arrays: Sequence[Any]) -> Shapes:
    """The shapes of arguments."""
    return [a.shape for a in jax.tree.leaves(arrays)]


def traced(function: CompiledFunction, arguments: Sequence[Any]) -> TracedKernel:
    """A kernel as JAX traces it for such arguments."""
    closed, results = jax.make_jaxpr(function, return_shape=True)(*arguments)
    return TracedKernel(closed, jax.tree.structure(results))


def common_form(one: TracedKernel, other: TracedKernel, lengths: tuple[int, int]) -> Form:
    """The form of two traces of a kernel. Raises ``UnlikeError``."""
    if one.results != other.results:
        raise UnlikeError
    try:
        return form_of(one.closed, other.closed, lengths)
    except (TypeError, ValueError) as error:
        # Such as parameters of operators that cannot be compared.
        raise UnlikeError from error


def with_rows(form: Form, results: Any, most: int, like: CompiledFunction) -> CompiledFunction:
    """A kernel that takes arrays with rows for the most and, at last, the length."""

    @functools.wraps(like)
    def padded(*given: Any) -> Any:
        *arrays, length = given
        function = PaddedFunction(Padding(length, most))
        made = function.results(form, jax.tree.leaves(arrays))
        return jax.tree.unflatten(results, made)

    return padded


def require_padded(
    form: Form, function: CompiledFunction, arguments: Sequence[Any], most: int
) -> None:
    """Raise ``UnlikeError`` unless all operators of such a kernel have rules for padding."""
    shapes = _shapes(form, range(form.count), most)
    leaves, structure = jax.tree.flatten(tuple(arguments))
    rows = [jax.ShapeDtypeStruct(s, a.dtype) for s, a in zip(shapes, leaves, strict=True)]
    jax.eval_shape(function, *jax.tree.unflatten(structure, rows), np.int32(most))


def for_length(
    kernel: CompiledFunction, form: Form, length: int, most: int, empty: Callable[..., Any]
) -> CompiledFunction:
    """A kernel for arrays of a length, by one for arrays with more rows.

    ``empty`` makes an array of the host for a shape and a dtype.
    """
    larger = _shapes(form, range(form.count), most)
    cuts = _shapes(form, form.results, length)
    number = np.int32(length)

    def call(*arrays: Any) -> Any:
        leaves, structure = jax.tree.flatten(arrays)
        padded = [_padded(a, shape, empty) for a, shape in zip(leaves, larger, strict=True)]
        results = kernel(*jax.tree.unflatten(structure, padded), number)
        made, structure = jax.tree.flatten(results)
        cut = [_cut(a, shape) for a, shape in zip(made, cuts, strict=True)]
        return jax.tree.unflatten(structure, cut)

    return call


def _shapes(
    form: Form, numbers: Iterable[int | FormConstant], length: int
) -> list[tuple[int, ...]]:
    padding = Padding(length, length)
    kinds = (v if isinstance(v, FormConstant) else form.kinds[v] for v in numbers)
    return [padding.shape(kind.shape) for kind in kinds]


def _padded(array: Any, shape: tuple[int, ...], empty: Callable[..., Any]) -> Any:
    if array.shape == shape:
        return array
    host = np.asarray(array)
    padded = empty(shape, host.dtype)
    for axis, (n, most) in enumerate(zip(host.shape, shape, strict=True)):
        if n < most:
            padded[(slice(None),) * axis + (slice(n, most),)] = 0
    padded[tuple(map(slice, host.shape))] = host
    return padded


def _cut(array: Any, shape: tuple[int, ...]) -> Any:
    if array.shape == shape:
        return array
    return jax.device_put(np.asarray(array)[tuple(map(slice, shape))])
