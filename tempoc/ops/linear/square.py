"""Square matrices along the last two axes of a tensor, all others being a batch.

A matrix whose extent varies with the step is padded by an identity, which changes neither factors
nor solutions in the valid part: ``[[a, 0], [0, 1]]``. Halves are computed in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import jax_dtype
from tempoc.ops.definition.operator import Array, EmittedValue, Emitter, OperandError, ShapeFacts
from tempoc.ops.definition.promotion import real, widened
from tempoc.ops.definition.shapes import same, shape_text
from tempoc.ops.definition.types import DType, TensorType


def require_square(type: TensorType, name: str, facts: ShapeFacts) -> None:
    """``OperandError`` unless the last two extents provably agree, and elements are numbers."""
    if type.dtype in (DType.BOOL, DType.KEY):
        raise OperandError(
            f"{name} takes numbers, not {type.dtype.value}", help="convert with f32(x)"
        )
    if type.ndim < 2 or not same(type.shape[-1], type.shape[-2], facts):
        raise OperandError(f"{name} takes square matrices, not the shape {shape_text(type.shape)}")


def wide(array: Array) -> Array:
    """The array as it is computed with: floating point, single precision at least."""
    return widened(real(array))


def each_matrix(a: Array, function: Callable[[Array], Array], failed: Array) -> Array:
    """The function of each matrix of a stack; ``failed`` where LAPACK gives up."""
    results = np.empty((*a.shape[:-2], *failed.shape), a.dtype)
    for at in np.ndindex(a.shape[:-2]):
        try:
            results[at] = function(a[at])
        except np.linalg.LinAlgError:
            results[at] = failed
    return results


def whole_matrix(v: EmittedValue, dtype: DType, out: Emitter) -> EmittedValue:
    """The matrices in a dtype, with an identity for padding."""
    v = pads.converted(pads.with_own_padding(v, out), dtype.wide, out)
    row, column = v.type.ndim - 2, v.type.ndim - 1
    n = out.pad(v.type.shape[row])
    v = out.align(v, (*v.padded[:row], n, n))
    if not v.is_ragged(row) and not v.is_ragged(column):
        return v
    inside = " & ".join(out.valid(v, k) for k in (row, column) if v.is_ragged(k))
    eye = f"jnp.eye({out.static(n)}, dtype={jax_dtype(dtype.wide)})"
    return replace(v, text=out.bind("whole", f"jnp.where({inside}, {v.text}, {eye})"))
