"""Loops of small steps on CPUs: which ones XLA compiles as one native function, in any process.

XLA for CPUs starts each operator in the body of a loop on its own, which takes 50 ns and more. A
call that is marked as small it compiles as one function, where an operator takes a few nanoseconds;
it marks itself loops of which a step touches less than 1024 bytes. Here larger ones are marked, if
a step consists of operators that such a function may have: none that calls a library, or that XLA
may fuse for one. Products of small matrices, for which XLA calls one, are sums of products there.
An XLA that knows no such mark ignores it.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import jit, lax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun

from tempoc.runtime.device.draws import drawn, is_draw

_MARKS = {"xla_cpu_small_call": "true", "inlineable": "false"}
_REFUSALS = "UNIMPLEMENTED", "Failed to materialize symbols"
_LOOPS = frozenset(("while", "scan"))
_CALLS = frozenset(("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vmap_call"))
_NESTED = _LOOPS | _CALLS | {"cond"}
_UPDATES = frozenset(("dynamic_update_slice", "scatter", "scatter-add"))
"""Operators that change a part of their first operand."""
_SCATTERS = _UPDATES - {"dynamic_update_slice"}
_PRODUCT = "dot_general"
_PARTS = _UPDATES | {"dynamic_slice", "gather", "slice"}
"""Operators that look at a part of it."""
_MOVES = ("reshape", "squeeze", "expand_dims", "broadcast_in_dim", "iota", "transpose")
_NO_COPY = frozenset((*_MOVES, "optimization_barrier"))
"""Operators that become a part of others, or nothing."""
_NAMES = """
    abs acos acosh add add_any and argmax argmin asin asinh atan atan2 atanh bitcast_convert_type
    broadcast_in_dim cbrt ceil clamp clz concatenate convert_element_type copy cos cosh cummax
    cummin cumprod cumsum div dynamic_slice dynamic_update_slice eq erf erf_inv erfc exp exp2
    expand_dims expm1 floor gather ge gt integer_pow iota is_finite le log log1p logistic lt max min
    mul ne neg nextafter not optimization_barrier or pad pow reduce reduce_and reduce_max reduce_min
    reduce_or reduce_precision reduce_prod reduce_sum rem reshape rev round rsqrt select_n
    shift_left shift_right_arithmetic shift_right_logical sign sin sinh slice split sqrt square
    squeeze stack stop_gradient sub tan tanh threefry2x32 tile transpose xor
"""
_PLAIN = frozenset(_NAMES.split())
"""What may be in a function of XLA's that has all of a loop."""


def compiled_whole(
    compile_kernel: Callable[[Callable[..., Any]], Callable[..., Any]],
    function: Callable[..., Any],
    most: int,
    each: int,
    keys: int,
) -> Callable[..., Any]:
    """A kernel with loops marked, on a CPU, of which a step touches up to ``most`` bytes.

    No operator touches more than ``each``. Draws for ``keys`` keys or more are written out. If XLA
    refuses that, it is compiled as it is.
    """
    marked = with_whole_loops(function, most, each, keys)
    kernel = compile_kernel(marked)
    if marked is function:
        return kernel

    def call(*arrays: Any) -> Any:
        nonlocal kernel, marked
        try:
            return kernel(*arrays)
        except jax.errors.JaxRuntimeError as error:
            if marked is function or not any(text in str(error) for text in _REFUSALS):
                raise
            marked, kernel = function, compile_kernel(function)
            return kernel(*arrays)

    return call


def with_whole_loops(
    function: Callable[..., Any], most: int, each: int, keys: int
) -> Callable[..., Any]:
    """The function with such loops and draws; of one that names no loop nothing is known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    names = () if code is None or most <= 1 else code.co_names
    if not any("loop" in name or name == "scan" for name in names):
        return function

    @functools.wraps(function)
    def marked(*arrays: Any, **named: Any) -> Any:
        if jax.default_backend() != "cpu":
            return function(*arrays, **named)
        bound = functools.partial(function, **named)
        closed, results = jax.make_jaxpr(bound, return_shape=True)(*arrays)
        values = _Marking(most, each, keys).results(closed, jax.tree.leaves(arrays))
        return jax.tree.unflatten(jax.tree.structure(results), values)

    return marked


class _Marking:
    """Computes what functions of JAX compute, with loops marked and draws written out."""

    def __init__(self, most: int, each: int, keys: int) -> None:
        self.most = most
        self.each = each
        self.keys = keys

    def results(self, closed: ClosedJaxpr, given: Sequence[Any]) -> list[Any]:
        """The results of a function for these arguments."""
        jaxpr = closed.jaxpr
        known: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        known |= zip(jaxpr.invars, given, strict=True)
        plain: list[JaxprEqn] = []
        for eqn in jaxpr.eqns:
            if not self._differs(eqn):
                plain.append(eqn)
                continue
            _compute(jaxpr, plain, known)
            plain = []
            values = self._nested(eqn, [_value(v, known) for v in eqn.invars])
            known |= zip(eqn.outvars, values, strict=True)
        _compute(jaxpr, plain, known)
        return [_value(v, known) for v in jaxpr.outvars]

    def results_of(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of one operator, which has several."""
        if self._differs(eqn):
            return self._nested(eqn, given)
        results: Sequence[Any] = eqn.primitive.bind(*given, **eqn.params)
        return results

    def _differs(self, eqn: JaxprEqn) -> bool:
        """Whether an operator is a loop that is marked or such a draw, or has one in it."""
        name = eqn.primitive.name
        if is_draw(eqn, self.keys):
            return True
        if name not in _NESTED or eqn.effects:
            return False
        if name in _LOOPS and self._is_small(eqn):
            return True
        return any(self._differs(e) for inner in _functions(eqn) for e in inner.jaxpr.eqns)

    def _is_small(self, loop: JaxprEqn) -> bool:
        """Whether a loop may be one function, and a step touches few bytes.

        XLA ends the process if such a function is given an array without elements.
        """
        inner, given = [*_functions(loop)], loop.invars
        plain = all(map(_size, given)) and all(map(self._is_plain, inner))
        return plain and sum(_bytes(f.jaxpr) for f in inner) <= self.most

    def _is_plain(self, closed: ClosedJaxpr) -> bool:
        return all(
            all(map(self._is_plain, _functions(e)))
            if e.primitive.name in _NESTED
            else _is_simple(e) and max(_touched(e, ()), _multiplied(e)) <= self.each
            for e in closed.jaxpr.eqns
        )

    def _nested(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of an operator with loops or draws."""
        name, how = eqn.primitive.name, eqn.params
        if is_draw(eqn, self.keys):
            return (drawn(eqn, *given),)
        if name in _LOOPS and self._is_small(eqn):
            return _marked(eqn, given, self.most)
        if name in _CALLS:
            return self.results(next(iter(_functions(eqn))), given)
        also = {key: self._rewritten(value) for key, value in how.items()}
        results: Sequence[Any] = eqn.primitive.bind(*given, **also)
        return results

    def _rewritten(self, value: Any) -> Any:
        """A parameter of an operator, functions in it computed by `results`."""
        if isinstance(value, tuple):
            return tuple(map(self._rewritten, value))
        if not isinstance(value, ClosedJaxpr):
            return value
        return jax.make_jaxpr(lambda *given: self.results(value, given))(*value.in_avals)


class _InSmallSteps(_Marking):
    """Computes the same, scatters of several rows one row after the other, products of matrices
    as sums."""

    def _differs(self, eqn: JaxprEqn) -> bool:
        """Whether an operator is such a scatter or product, or has one in it."""
        several = eqn.primitive.name in _SCATTERS and eqn.invars[1].aval.ndim > 1
        if several or (eqn.primitive.name == _PRODUCT and 1 not in _rows(eqn)):
            return True
        return any(self._differs(e) for f in _functions(eqn) for e in f.jaxpr.eqns)

    def _is_small(self, loop: JaxprEqn) -> bool:
        return False

    def _nested(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        if eqn.primitive.name == _PRODUCT:
            return (_as_sum(eqn, *given),)
        if eqn.primitive.name not in _SCATTERS:
            return super()._nested(eqn, given)
        x, places, rows = given
        dims = eqn.params["dimension_numbers"]
        lanes = [k for k in range(rows.ndim) if k not in dims.update_window_dims]
        count = math.prod(places.shape[:-1])
        rows = jnp.moveaxis(rows, lanes, range(len(lanes)))
        rows = rows.reshape(count, *rows.shape[len(lanes) :])
        shape = *places.shape[:-1], 1
        own = (
            lax.broadcasted_iota(places.dtype, shape, k) for k in dims.scatter_indices_batching_dims
        )
        places = jnp.concatenate([*own, places], -1).reshape(count, -1)
        how = eqn.params | {
            "dimension_numbers": lax.ScatterDimensionNumbers(
                update_window_dims=(*range(rows.ndim - 1),),
                inserted_window_dims=(
                    *sorted((*dims.inserted_window_dims, *dims.operand_batching_dims)),
                ),
                scatter_dims_to_operand_dims=(
                    *dims.operand_batching_dims,
                    *dims.scatter_dims_to_operand_dims,
                ),
            )
        }

        def step(k: Any, x: Any) -> Any:
            return eqn.primitive.bind(x, places[k], rows[k], **how)

        return (lax.fori_loop(0, count, step, x),)


def _marked(loop: JaxprEqn, given: Sequence[Any], most: int) -> Sequence[Any]:
    """The results of a loop, by a marked call.

    XLA ends the process if such a function, as it has simplified it, does not look at one of its
    arguments. So it returns them: those that the loop only reads, which are not copied for that,
    and those that it may overwrite as a whole, which are small. Behind a barrier none becomes a
    constant of the function.
    """
    body = [*_functions(loop)][-1].jaxpr
    outs = body.outvars[: len(loop.outvars)]
    new = [k for k, v in enumerate(outs) if not (isinstance(v, Var) and v in body.invars)]
    first, last = _carried(loop)
    read = {*range(len(given))} - {first + k for k in new if first + k < last}
    back = [k for k, v in enumerate(loop.invars) if k in read or _size(v) <= most]

    def run(*arrays: Any) -> tuple[Any, ...]:
        results = _InSmallSteps(0, 0, 0).results_of(loop, arrays)
        return *results, *lax.optimization_barrier(tuple(arrays[k] for k in back))

    results = [*jit(run)(*lax.optimization_barrier(tuple(given)))]
    for k in new:
        results[k] = set_xla_metadata(results[k], **_MARKS)
    behind: list[Any] = lax.optimization_barrier(results)
    return behind[: len(loop.outvars)]


def _carried(loop: JaxprEqn) -> tuple[int, int]:
    """Where the operands are that a loop carries."""
    how = loop.params
    if loop.primitive.name == "scan":
        return how["num_consts"], how["num_consts"] + how["num_carry"]
    return how["cond_nconsts"] + how["body_nconsts"], len(loop.invars)


def _compute(jaxpr: Jaxpr, eqns: list[JaxprEqn], known: dict[Var, Any]) -> None:
    """Compute what operators without loops give."""
    if not eqns:
        return
    made = [v for e in eqns for v in e.outvars]
    own = {*made}
    used = {v: None for e in eqns for v in e.invars if isinstance(v, Var) and v not in own}
    part = jaxpr.replace(constvars=[], invars=[*used], outvars=made, eqns=eqns)
    values = jaxpr_as_fun(ClosedJaxpr(part, []))(*(known[v] for v in used))
    known |= zip(made, values, strict=True)


def _value(v: Var | Literal, known: Mapping[Var, Any]) -> Any:
    return v.val if isinstance(v, Literal) else known[v]


def _functions(eqn: JaxprEqn) -> Iterable[ClosedJaxpr]:
    """The functions that are parts of an operator."""
    for value in eqn.params.values():
        many = value if isinstance(value, tuple) else (value,)
        yield from (f for f in many if isinstance(f, ClosedJaxpr))


def _is_simple(eqn: JaxprEqn) -> bool:
    """Whether a function may have an operator.

    Scatters write one row after the other there; of products it has only those with vectors.
    """
    name = eqn.primitive.name
    if name == _PRODUCT:
        types = {v.aval.dtype for v in (*eqn.invars, *eqn.outvars)}
        exact = len(types) == 1 and all(t.itemsize > 2 for t in types)  # a sum of halves is rounded
        return 1 in _rows(eqn) or exact
    if name.startswith("scatter"):
        return name in _SCATTERS and _size(eqn.invars[-1]) > 0
    return name in _PLAIN


def _rows(product: JaxprEqn) -> list[int]:
    """How many elements each operand has beside those summed over, and those in common."""
    summed, batched = product.params["dimension_numbers"]
    return [
        math.prod(n for k, n in enumerate(v.aval.shape) if k not in (*gone, *same))
        for v, gone, same in zip(product.invars, summed, batched, strict=True)
    ]


def _multiplied(eqn: JaxprEqn) -> int:
    """How many bytes the products take that a product of matrices is a sum of; 0 of others."""
    if eqn.primitive.name != _PRODUCT or 1 in _rows(eqn):
        return 0
    (own, _), _ = eqn.params["dimension_numbers"]
    each = int(math.prod(eqn.invars[0].aval.shape[k] for k in own))
    return each * sum(map(_size, eqn.outvars))


def _as_sum(product: JaxprEqn, a: Any, b: Any) -> Any:
    """The product of two arrays, of each two elements one after the other."""
    (own, its), (same, likewise) = product.params["dimension_numbers"]
    shape = product.outvars[0].aval.shape
    batch, rows = shape[: len(same)], [k for k in range(a.ndim) if k not in (*own, *same)]
    columns = [k for k in range(b.ndim) if k not in (*its, *likewise)]
    m, n = _rows(product)
    a = jnp.transpose(a, (*same, *rows, *own)).reshape(*batch, m, 1, -1)
    b = jnp.transpose(b, (*likewise, *columns, *its)).reshape(*batch, 1, n, -1)
    return jnp.sum(a * b, axis=-1).reshape(shape)


def _bytes(jaxpr: Jaxpr) -> int:
    """How many bytes the operators of a function touch, each what it makes and what was there."""
    there = {*jaxpr.invars, *jaxpr.constvars}
    return sum(
        sum(_bytes(f.jaxpr) for f in _functions(e))
        if e.primitive.name in _NESTED
        else _touched(e, there)
        for e in jaxpr.eqns
    )


def _touched(eqn: JaxprEqn, there: Container[Var]) -> int:
    """How many bytes an operator touches that are new, or ``there`` before."""
    name, total = eqn.primitive.name, 0
    if name in _UPDATES:
        total = 2 * _size(eqn.invars[-1 if name.startswith("scatter") else 1])
    elif name not in _NO_COPY:
        total = sum(map(_size, eqn.outvars))
    if name not in _PARTS | _NO_COPY:
        total += sum(_size(v) for v in eqn.invars if isinstance(v, Var) and v in there)
    return total


def _size(v: Any) -> int:
    return int(math.prod(v.aval.shape)) * int(v.aval.dtype.itemsize)
