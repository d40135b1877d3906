"""Kernels as forms: traced, and as functions of padded arrays and lengths."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from tempoc.runtime.rewriting.lengths.form import Form, FormConstant, form_of
from tempoc.runtime.rewriting.lengths.numbers import KnownNumbers, is_few
from tempoc.runtime.rewriting.lengths.padded import PaddedFunction
from tempoc.runtime.rewriting.lengths.padding import Padding
from tempoc.runtime.rewriting.lengths.sizes import Lengths, Probes, UnlikeError

CompiledFunction = Callable[..., Any]
GivenArrays = tuple[Any, ...]
Shapes = list[tuple[int, ...]]


class TracedKernel(NamedTuple):
    """What JAX traced, and the structures of arguments and results."""

    closed: ClosedJaxpr
    arguments: Any
    results: Any


def arguments_of(arrays: Sequence[Any]) -> GivenArrays:
    """Shapes and dtypes of arguments. Raises ``UnlikeError`` while JAX traces."""
    if any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(arrays)):
        raise UnlikeError
    described = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), tuple(arrays))
    return tuple(described)


def shapes_of(arrays: Sequence[Any]) -> Shapes:
    """The shapes of arguments."""
    return [a.shape for a in jax.tree.leaves(arrays)]


def numbers_of(arrays: Sequence[Any]) -> KnownNumbers:
    """What is known of arguments: the first, which are coordinates and counts of the host."""
    leaves = enumerate(jax.tree.leaves(arrays[:1]))
    return {k: a for k, a in leaves if isinstance(a, np.ndarray) and is_few(a.shape, a.dtype)}


def with_shapes(
    arguments: GivenArrays, shapes: Sequence[Callable[[tuple[int, ...]], tuple[int, ...]] | None]
) -> GivenArrays:
    """Arguments of which the arrays have other shapes, by those they have.

    There is one function for each argument. Raises ``UnlikeError`` where there is not.
    """
    if len(arguments) != len(shapes):
        raise UnlikeError
    return tuple(
        argument if shape is None else jax.tree.map(partial(_shaped, shape), argument)
        for argument, shape in zip(arguments, shapes, strict=True)
    )


def _shaped(shape: Callable[[tuple[int, ...]], tuple[int, ...]], array: Any) -> Any:
    return jax.ShapeDtypeStruct(shape(array.shape), array.dtype)


def traced(function: CompiledFunction, arguments: GivenArrays) -> TracedKernel:
    """A kernel as JAX traces it for such arguments."""
    closed, results = jax.make_jaxpr(function, return_shape=True)(*arguments)
    return TracedKernel(closed, jax.tree.structure(arguments), jax.tree.structure(results))


def common_form(traces: Sequence[TracedKernel], probes: Probes) -> Form:
    """The form of traces of a kernel for all lengths of probes. Raises ``UnlikeError``."""
    if any(trace[1:] != traces[0][1:] for trace in traces):
        raise UnlikeError
    try:
        return form_of([trace.closed for trace in traces], probes)
    except (TypeError, ValueError) as error:
        # Such as parameters of operators that cannot be compared.
        raise UnlikeError from error


def is_at(form: Form, lengths: Lengths, one: Form) -> bool:
    """Whether a form for lengths is this one, of a single trace."""
    try:
        return bool(form.at(lengths) == one)
    except (UnlikeError, TypeError, ValueError):
        return False


def with_rows(form: Form, results: Any, most: Lengths, like: CompiledFunction) -> CompiledFunction:
    """A kernel that takes arrays with rows for the most and, at last, the lengths."""

    @functools.wraps(like)
    def padded(*given: Any) -> Any:
        *arrays, lengths = given
        function = PaddedFunction(Padding([lengths[k] for k in range(len(most))], most))
        made = function.results(form, jax.tree.leaves(arrays))
        return jax.tree.unflatten(results, made)

    return padded


def require_padded(form: Form, function: CompiledFunction, structure: Any, most: Lengths) -> None:
    """Raise ``UnlikeError`` unless all operators of a kernel have rules for padding that fit."""
    dtypes = (kind.dtype for kind in form.kinds)
    rows = [*map(jax.ShapeDtypeStruct, _shapes(form, range(form.count), most), dtypes)]
    try:
        jax.eval_shape(function, *jax.tree.unflatten(structure, rows), np.array(most, np.int32))
    except (TypeError, ValueError) as error:
        # JAX refuses what a rule makes: the kernel is compiled for its own lengths, as others are.
        raise UnlikeError from error


def for_length(
    kernel: CompiledFunction, form: Form, lengths: Lengths, most: Lengths, empty: Callable[..., Any]
) -> CompiledFunction:
    """A kernel for arrays of lengths, by one for arrays with more rows.

    Results that are cut are arrays of the host. ``empty`` makes one for a shape and a dtype.
    """
    larger = _shapes(form, range(form.count), most)
    cuts = _shapes(form, form.results, lengths)
    numbers = np.array(lengths, np.int32)

    def call(*arrays: Any) -> Any:
        leaves, structure = jax.tree.flatten(arrays)
        padded = [_padded(a, shape, empty) for a, shape in zip(leaves, larger, strict=True)]
        made, structure = jax.tree.flatten(kernel(*jax.tree.unflatten(structure, padded), numbers))
        cut = [_cut(a, shape) for a, shape in zip(made, cuts, strict=True)]
        return jax.tree.unflatten(structure, cut)

    return call


def copied_arrays(form: Form, lengths: Lengths, most: Lengths) -> int:
    """How many arguments are padded and results cut in a call for lengths."""
    variables = [*range(form.count), *form.results]
    pairs = zip(_shapes(form, variables, lengths), _shapes(form, variables, most), strict=True)
    return sum(shape != larger for shape, larger in pairs)


def on_device(results: Any) -> Any:
    """Results of such a kernel, those of the host put on the device."""
    return jax.tree.map(lambda x: jax.device_put(x) if isinstance(x, np.ndarray) else x, results)


def _shapes(
    form: Form, numbers: Iterable[int | FormConstant], lengths: Lengths
) -> list[tuple[int, ...]]:
    padding = Padding(lengths, lengths)
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
    return np.ascontiguousarray(np.asarray(array)[tuple(map(slice, shape))])
