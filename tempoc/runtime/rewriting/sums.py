"""Sums and extremes that XLA for CPUs hands to a library which takes longer than its own code.

Of operands of 4096 elements or more YNNPACK computes all of them, with what is fused into them (JAX
0.10.2). It is slow at sums of few elements each, where an operand is gathered or a factor is the
same for many sums above all, and at rows that exceed its tiles. What is computed otherwise than by
a plain addition is left to XLA: so these add by differences, `a - (-b)`, which are the same
numbers, one after the other. A maximum is the negative of a minimum of negatives, with NaN if there
is one, which the library may lose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from jax import lax
from jax.extend.core import Jaxpr, JaxprEqn, Var

from tempoc.runtime.rewriting.rewriter import functions

_LIBRARY = 4096
"""From how many elements on XLA calls the library."""
_FEW = 16
"""Up to how many elements a sum has few. 2026-11-29, CPU us on a busy machine, least of 15, by the
library and by differences, f32: 32 x 50 x 7 rows of 32 that are gathered, times 7 x 32 numbers,
over the 7, 1507 and 62; 1600 x 7 x 32 elements 169 and 80, products 247 and 152; 4096 x 8 x 4 270
and 61; along the last axis 4096 x 4 60 and 25, x 16 65 and 32, x 32 83 and 74, x 64 49 and 101.
Softmax of 4096 x 8 elements 110 and 58, its gradient 205 and 71, x 14 114 and 106, 248 and 142,
x 16, as many as its vectors have, 104 and 149, 315 and 342."""
_MANY = 4096
"""Up to how many elements a sum with a factor that is the same for several sums is added one after
the other: along the middle axis 32 x 128 x 64 elements 337 and 126, 16 x 24 x 24 188 and 68, 128 x
64 x 512 23,900 and 9,700, 4 x 2048 x 256 16,000 and 1,420, 512 x 50 x 32 793 and 606; along the
first one 32 x 200 x 64 1069 and 119. A factor that the elements of a row share does not count: 155
and 260 of 200 x 32 x 64. Many more numbers are added with fewer errors in parts."""
_LONG = 131072
"""From how many bytes on rows that are added are long: 8 rows of 64 KiB 39 and 26 us, of 128 KiB
2388 and 102, 64 of 128 KiB 27,000 and 571; 32 images of 256 x 256 numbers 18,981 and 352. Along two
axes computed rows, 8 x 4 of 128 KiB, 5.3 and 2.0 ms, but given ones 1.1 and 1.6."""
_LIGHT_NAMES = """
    abs add add_any and convert_element_type div eq expand_dims ge gt integer_pow le lt max min mul
    ne neg not or reshape select_n sign sqrt square squeeze sub
"""
_LIGHT = frozenset(_LIGHT_NAMES.split())
"""Elementwise operators that processors compute of whole vectors, and moves that cost nothing."""
_MOVES = frozenset(("expand_dims", "reshape", "squeeze"))
"""Those of them that compute nothing: what has been moved is used as often as its source."""
_HEAVY_NAMES = """
    acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erf_inv erfc exp exp2 expm1 lgamma log
    log1p logistic pow rsqrt sin sinh tan tanh
"""
_HEAVY = frozenset(_HEAVY_NAMES.split())
"""Elementwise operators that XLA may not compute of whole vectors within a sum."""


_NEUTRAL = {"reduce_sum": 0.0, "reduce_max": -np.inf, "reduce_min": np.inf}
"""Such operators, and where they start."""
_COMBINED: Mapping[str, Callable[[Any, Any], Any]] = {
    "reduce_sum": lambda a, b: a - (-b),
    "reduce_max": lambda a, b: -lax.min(-a, -b),
    "reduce_min": lambda a, b: -lax.max(-a, -b),
}


def slow_sums(jaxpr: Jaxpr) -> Iterator[Var]:
    """The results of such sums and extremes in a function, and in nested ones.

    What is costly, or also used by others, as in softmax, stays with the library unless it is added
    along the last axis: the library computes such chains without storing what is between.
    """
    made = {v: e for e in jaxpr.eqns for v in e.outvars}
    uses = Counter(v for e in jaxpr.eqns for v in e.invars if isinstance(v, Var))
    uses.update(v for v in jaxpr.outvars if isinstance(v, Var))
    for eqn in jaxpr.eqns:
        for f in functions(eqn):
            yield from slow_sums(f.jaxpr)
        if eqn.primitive.name in _NEUTRAL and _is_slow(eqn, made, uses):
            yield eqn.outvars[0]


def added(eqn: JaxprEqn, x: Any) -> Any:
    """What such a sum or extreme gives."""
    name = eqn.primitive.name
    return lax.reduce(x, np.array(_NEUTRAL[name], x.dtype), _COMBINED[name], eqn.params["axes"])


def _is_slow(eqn: JaxprEqn, made: Mapping[Var, JaxprEqn], uses: Mapping[Var, int]) -> bool:
    x, axes = eqn.invars[0].aval, eqn.params["axes"]
    summed = math.prod(x.shape[k] for k in axes)
    if str(x.dtype) not in ("float32", "float64") or x.size < _LIBRARY or summed < 2:
        return False
    last = max(axes)
    if math.prod(x.shape[last + 1 :]) * x.dtype.itemsize >= _LONG:
        return len(axes) == 1 or eqn.invars[0] in made
    single, by_rows = str(x.dtype) == "float32", math.prod(x.shape[last + 1 :]) == 1
    if len(axes) > 1 or summed > _MANY:
        return False
    if summed > _FEW:
        return single and not by_rows and _has_common_factor(eqn.invars[0], last, made)
    vectors = single and by_rows and summed < _FEW
    return vectors or _is_light(eqn.invars[0], made, uses)


def _has_common_factor(v: Any, axis: int, made: Mapping[Var, JaxprEqn]) -> bool:
    """Whether what is added along an axis is a product with rows that sums have in common."""
    if v not in made or made[v].primitive.name != "mul":
        return False
    shape = v.aval.shape
    others = [u.aval.shape for u in made[v].invars if u.aval.shape not in ((), shape)]
    return any(s[axis] == shape[axis] and s[-1] == shape[-1] for s in others)


def _is_light(v: Any, made: Mapping[Var, JaxprEqn], uses: Mapping[Var, int]) -> bool:
    """Whether what is added is computed for the sum alone, and by light operators."""
    worklist = [(v, uses[v])]
    while worklist:
        v, times = worklist.pop()
        name = made[v].primitive.name if v in made else ""
        if name in _HEAVY or (name in _LIGHT - _MOVES and times != 1):
            return False
        if name in _LIGHT:
            operands = (u for u in made[v].invars if isinstance(u, Var))
            worklist += ((u, max(uses[u], times * (name in _MOVES))) for u in operands)
    return True
