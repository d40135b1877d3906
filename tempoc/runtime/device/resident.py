"""Arrays of the caller that are on the device already, and outputs that stay there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime.data.dtypes import NUMPY
from tempoc.runtime.data.source import as_array
from tempoc.runtime.device import backend
from tempoc.runtime.device.alignment import aligned
from tempoc.runtime.device.backend import DeviceArray
from tempoc.runtime.messages import run as errors

_CPU = 1
"""The number of host memory in DLPack."""
namespace = jnp
"""What has functions of arrays by the names of NumPy's."""


def resident(value: object) -> DeviceArray | None:
    """The array of the device that a value is; ``None`` for what has to come from the host.

    An array of JAX is taken as it is, since it never changes. What an accelerator of another
    library holds (by DLPack) may change, and is copied there, as is what another one has in host
    memory and NumPy has no dtype for (bf16). Raises ``RunError`` for a value that JAX traces.
    """
    if isinstance(value, jax.core.Tracer):
        raise RunError(errors.traced())
    try:
        if isinstance(value, jax.Array):
            return _without_weak_type(value) if _is_here(value) else None
        place = getattr(value, "__dlpack_device__", None)
        if place is None or (place()[0] == _CPU and _is_for_numpy(value)):
            return None
        return private(jax.device_put(jax.dlpack.from_dlpack(value), jax.devices()[0]))
    except Exception:
        # Such as a tensor that does not let go of its gradient: NumPy says why not.
        return None


def _is_for_numpy(value: object) -> bool:
    try:
        as_array(value)
    except Exception:
        return False
    return True


def taken(value: object) -> Any:
    """An argument as the array of the device that it is, or else as one of NumPy.

    A masked array is one of objects, which no program takes.
    """
    if isinstance(value, np.ma.MaskedArray):
        return value.astype(object)
    array = resident(value)
    return as_array(value) if array is None else array


def _is_here(array: jax.Array) -> bool:
    """Whether an array is in the memory of the device that programs run on, and there whole."""
    here = not array.is_deleted() and array.devices() == {jax.devices()[0]}
    return here and array.sharding.memory_kind == jax.devices()[0].default_memory().kind


def _without_weak_type(array: jax.Array) -> jax.Array:
    """A kernel would compute in the type of the others with an array of a weak one."""
    return jnp.asarray(array, array.dtype) if array.weak_type else array


def private(array: jax.Array) -> DeviceArray:
    """A copy that may be overwritten."""
    return jnp.array(array, copy=True)


def owned(array: Any) -> Any:
    """An array for a kernel that nobody else writes to."""
    return array if isinstance(array, jax.Array) else aligned(array)


def put(array: Any, dtype: str) -> DeviceArray:
    """An array on the device: a private copy of one of NumPy."""
    return array if isinstance(array, jax.Array) else backend.put(array, dtype)


def joined(
    parts: Sequence[DeviceArray],
    counts: Sequence[int],
    axes: Sequence[int | None],
    empty: tuple[tuple[int, ...], str],
) -> DeviceArray:
    """Equal parts as one array: what is counted becomes an axis there, or is one and no axis.

    Without parts, an array of this shape and dtype.
    """
    if not parts:
        shape, dtype = empty
        return jnp.zeros(shape, NUMPY[dtype])
    targets = {axis: n for n, axis in zip(counts, axes, strict=True) if axis is not None}
    whole = jnp.stack(parts).reshape(*targets.values(), *parts[0].shape)
    return jnp.moveaxis(whole, range(len(targets)), [*targets])
