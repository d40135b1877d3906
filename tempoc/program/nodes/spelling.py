"""The Python names of dimensions and bounds in `kernels.py`."""

from __future__ import annotations

import keyword

_UNFIT = frozenset(
    (
        *keyword.kwlist,
        *("at", "carry", "count", "fault", "found", "steps"),
        *("jax", "jnp", "lax"),
        *("dict", "float", "int", "len", "list", "max", "min", "range", "slice", "sum", "tuple"),
        "zip",
    )
)


def variable(name: str) -> str:
    """The variable for a dimension or a bound: its own name, unless Python or a kernel needs that.

    Names that differ are spelled differently: ``at`` is ``at_``, and ``at_`` is ``at__``.
    """
    return f"{name}_" if name.rstrip("_") in _UNFIT else name
