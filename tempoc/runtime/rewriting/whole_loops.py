"""Loops of small steps on CPUs: which ones XLA compiles as one native function, in any process.

And what else of kernels it computes in another way than it would: draws (`draws.py`), slow sums
(`sums.py`).

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
from collections.abc import Callable, Container, Sequence
from types import FunctionType
from typing import Any

import jax
from jax import jit, lax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Var

from tempoc.runtime.rewriting.draws import drawn, is_draw
from tempoc.runtime.rewriting.names import all_names
from tempoc.runtime.rewriting.rewriter import LOOPS, NESTED, JaxprRewriter, functions, size
from tempoc.runtime.rewriting.small_steps import (
    PRODUCT,
    SCATTERS,
    UPDATES,
    SmallSteps,
    multiplied_bytes,
    rows_beside,
)
from tempoc.runtime.rewriting.sums import added, slow_sums

_MARKS = {"xla_cpu_small_call": "true", "inlineable": "false"}
_REFUSALS = "UNIMPLEMENTED", "Failed to materialize symbols"
_PARTS = UPDATES | {"dynamic_slice", "gather", "slice"}
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
_SUMS = frozenset(("logsumexp", "max", "min", "sum"))
"""Functions by which kernels compute sums and extremes."""


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
    """The function with such loops and draws, and with slow sums added up by XLA itself.

    Of one that names no loop, nor anywhere a sum, nothing is known.
    """
    plain = inspect.unwrap(function)
    if not isinstance(plain, FunctionType) or most <= 1:
        return function
    loops = any("loop" in name or name == "scan" for name in plain.__code__.co_names)
    if not loops and _SUMS.isdisjoint(all_names(plain)):
        return function

    @functools.wraps(function)
    def marked(*arrays: Any, **named: Any) -> Any:
        if jax.default_backend() != "cpu":
            return function(*arrays, **named)
        bound = functools.partial(function, **named)
        bound = bound if loops else jit(bound)  # of which JAX keeps the trace
        closed, results = jax.make_jaxpr(bound, return_shape=True)(*arrays)
        sums = frozenset(slow_sums(closed.jaxpr))
        if not loops and not sums:
            return bound(*arrays)
        rewriter = _WholeLoops(most if loops else -1, each, keys, sums)
        values = rewriter.results(closed, jax.tree.leaves(arrays))
        return jax.tree.unflatten(jax.tree.structure(results), values)

    return marked


class _WholeLoops(JaxprRewriter):
    """Marks loops, writes out draws, and adds up what ``sums`` are the results of."""

    def __init__(self, most: int, each: int, keys: int, sums: Container[Var | None]) -> None:
        self.most = most
        self.each = each
        self.keys = keys
        self.sums = sums

    def takes(self, eqn: JaxprEqn) -> bool:
        """Whether an operator is a loop that is marked, a draw or such a sum."""
        return self._is_sum(eqn) or is_draw(eqn, self.keys) or self._is_small(eqn)

    def computed(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of such a loop, draw or sum."""
        if self._is_sum(eqn):
            return (added(eqn, *given),)
        if is_draw(eqn, self.keys):
            return (drawn(eqn, *given),)
        return _marked(eqn, given, self.most)

    def _is_sum(self, eqn: JaxprEqn) -> bool:
        return len(eqn.outvars) == 1 and eqn.outvars[0] in self.sums

    def _is_small(self, loop: JaxprEqn) -> bool:
        """Whether an operator is a loop that may be one function, and a step touches few bytes.

        XLA ends the process if such a function is given an array without elements.
        """
        if loop.primitive.name not in LOOPS or loop.effects:
            return False
        inner, given = [*functions(loop)], loop.invars
        plain = all(map(size, given)) and all(map(self._is_plain, inner))
        return plain and sum(_bytes(f.jaxpr) for f in inner) <= self.most

    def _is_plain(self, closed: ClosedJaxpr) -> bool:
        return all(
            all(map(self._is_plain, functions(e)))
            if e.primitive.name in NESTED
            else _is_simple(e) and max(_touched(e, ()), multiplied_bytes(e)) <= self.each
            for e in closed.jaxpr.eqns
        )


def _marked(loop: JaxprEqn, given: Sequence[Any], most: int) -> Sequence[Any]:
    """The results of a loop, by a marked call.

    Results that nothing uses stay inside, where XLA removes what only they need: an array that the
    loop carries may be copied in each step for a part of it that is handed out.

    XLA ends the process if such a function, as it has simplified it, does not look at one of its
    arguments. So it returns them: those that the loop only reads, which are not copied for that,
    and those that it may overwrite as a whole, which are small. What becomes of others is a result
    even if nothing uses it. Behind a barrier none becomes a constant of the function.
    """
    body = [*functions(loop)][-1].jaxpr
    outs = body.outvars[: len(loop.outvars)]
    new = [k for k, v in enumerate(outs) if not (isinstance(v, Var) and v in body.invars)]
    first, last = _carried(loop)
    read = {*range(len(given))} - {first + k for k in new if first + k < last}
    back = [k for k, v in enumerate(loop.invars) if k in read or size(v) <= most]
    others = {*range(first, last)} - {*back}
    used = [k for k, v in enumerate(loop.outvars) if v is not None or first + k in others]

    def run(*arrays: Any) -> tuple[Any, ...]:
        own = SmallSteps().results_of(loop, arrays)
        results = [own[k] for k in used]
        return *results, *lax.optimization_barrier(tuple(arrays[k] for k in back))

    results = [*jit(run)(*lax.optimization_barrier(tuple(given)))]
    for place, k in enumerate(used):
        if k in new:
            results[place] = set_xla_metadata(results[place], **_MARKS)
    behind = dict(zip(used, lax.optimization_barrier(results), strict=False))
    return [behind.get(k) for k in range(len(loop.outvars))]


def _carried(loop: JaxprEqn) -> tuple[int, int]:
    """Where the operands are that a loop carries."""
    how = loop.params
    if loop.primitive.name == "scan":
        return how["num_consts"], how["num_consts"] + how["num_carry"]
    return how["cond_nconsts"] + how["body_nconsts"], len(loop.invars)


def _is_simple(eqn: JaxprEqn) -> bool:
    """Whether a function may have an operator.

    Scatters write one row after the other there; of products it has only those with vectors.
    """
    name = eqn.primitive.name
    if name == PRODUCT:
        types = {v.aval.dtype for v in (*eqn.invars, *eqn.outvars)}
        exact = len(types) == 1 and all(t.itemsize > 2 for t in types)  # a sum of halves is rounded
        return 1 in rows_beside(eqn) or exact
    if name.startswith("scatter"):
        return name in SCATTERS and size(eqn.invars[-1]) > 0
    return name in _PLAIN


def _bytes(jaxpr: Jaxpr) -> int:
    """How many bytes the operators of a function touch, each what it makes and what was there."""
    there = {*jaxpr.invars, *jaxpr.constvars}
    return sum(
        sum(_bytes(f.jaxpr) for f in functions(e))
        if e.primitive.name in NESTED
        else _touched(e, there)
        for e in jaxpr.eqns
    )


def _touched(eqn: JaxprEqn, there: Container[Var]) -> int:
    """How many bytes an operator touches that are new, or ``there`` before."""
    name, total = eqn.primitive.name, 0
    if name in UPDATES:
        total = 2 * size(eqn.invars[-1 if name.startswith("scatter") else 1])
    elif name not in _NO_COPY:
        total = sum(map(size, eqn.outvars))
    if name not in _PARTS | _NO_COPY:
        total += sum(size(v) for v in eqn.invars if isinstance(v, Var) and v in there)
    return total
