"""Kernels on CPUs with the branches that nearly all data take; others are compiled when they do.

A kernel may have two ways to compute something: one for data that are finite, one for all. XLA
would compile both, and fuses nothing into a branch. Here it compiles the usual branches in place,
also in loops, and the kernel tells whether they were right. If not, nothing of its results is kept,
and the kernel is called as it is. So the data alone decide which of both gives the results. Usually
no check fails either: which of many does first is looked for when one did. Rare branches are not
even traced before: in a copy of the kernels' functions the helper that has both computes the usual
one and marks it. A mark cannot be compiled, so none is taken for a result that is right.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, jaxpr_as_fun
from jax.interpreters import batching

from tempoc.runtime.rewriting.rewriter import CALLS, JaxprRewriter, functions

_HELPER = "usually"
"""The function of kernels that has these branches."""
_MARK = Primitive("usual_branch")
"""Its operands but the first, if that holds. It has no meaning for JAX but under ``jax.vmap``."""
_MARK.multiple_results = True
_MARK.def_abstract_eval(lambda right, *results: results)
_CHECK, _FIRST, _CODE = "first_lane", "first_code", "wrong_code"
"""The function that looks for the first code that is not 0, its scope, and that of a code."""
_CODES, _CODES_OF_STEPS = 32768, 256
"""From how many codes on that is left out, and from how many on in each step of a loop.

Which takes 0.5 us of 500 codes, to see whether there is one 0.25; but the kernel is waited for, and
has another result. 2026-11-28, quiet, CPU us: `bigrams` with 2048 as the first 190, with 32768 120
to 140, without 150 to 175; a knapsack of 500 items, in a loop, 390, without 660.
"""


def compiled_as_usual(
    compile_kernel: Callable[[Callable[..., Any], str], Callable[..., Any]],
    function: Callable[..., Any],
    donated: Sequence[int],
    fitted: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function,
) -> Callable[..., Any]:
    """A kernel that is compiled with its usual branches first, if it has some and is on a CPU.

    ``compile_kernel`` also takes a text that tells both functions apart; each is ``fitted`` before.
    A kernel that overwrites arguments, which are ``donated``, could not be called again. Data that
    are not usual in two calls, one after the other, are taken to stay so.
    """
    whole = fitted(function)
    if not has_usual_branches(function, donated):
        return compile_kernel(whole, "")
    usual = compile_kernel(with_usual_branches(function, fitted), _HELPER)
    plain: Callable[..., Any] | None = None
    wrong = 0

    def call(*arrays: Any) -> Any:
        nonlocal plain, wrong
        if wrong < 2:
            results, right = usual(*arrays)
            # Within a trace there are no numbers yet. JAX's own `bool` takes 11 us more.
            if not any(isinstance(r, jax.core.Tracer) or not np.asarray(r) for r in right):
                wrong = 0
                return results
            wrong += 1
            del results  # no room is taken twice
        plain = plain or compile_kernel(whole, "")
        return plain(*arrays)

    return call


def _marked(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel with marks instead of branches, in a copy of all functions beside it.

    JAX keeps what it traces by the function: what has marks is traced of others than what has none.
    """
    known: dict[str, Any] = kernel.__globals__
    scope = dict(known)

    def copied(function: Any) -> Any:
        if not isinstance(function, FunctionType) or function.__globals__ is not known:
            return function
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
        copy.__kwdefaults__ = function.__kwdefaults__
        return functools.update_wrapper(copy, function)

    scope |= {name: copied(value) for name, value in known.items()}
    scope[_HELPER] = _usual_alone
    return copied(kernel)  # type: ignore[no-any-return]


def _usual_alone(right: Any, usual: Callable[[], Any], rare: Callable[[], Any]) -> Any:
    """The usual branch, marked with the condition under which it is right."""
    results, structure = jax.tree.flatten(usual())
    marked = _MARK.bind(jnp.asarray(right), *map(jnp.asarray, results))
    return jax.tree.unflatten(structure, marked)


def _mark_of_points(operands: Sequence[Any], axes: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The mark under ``jax.vmap``: it is right if it is for all points."""
    right, *results = operands
    right = right if axes[0] is None else jnp.all(right, axes[0])
    return _MARK.bind(right, *results), axes[1:]


batching.primitive_batchers[_MARK] = _mark_of_points


def has_usual_branches(function: Callable[..., Any], donated: Sequence[int]) -> bool:
    """Whether a kernel is compiled with usual branches first, if it has some."""
    helpers = getattr(function, "__globals__", {}).keys() & {_HELPER, _CHECK}
    return bool(helpers) and not donated and jax.default_backend() == "cpu"


def with_usual_branches(
    function: Callable[..., Any], fitted: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    """The fitted function with its usual branches, which also tells whether they are right.

    That is one boolean, or none if it has no such branches.
    """
    whole = fitted(function)
    marked = fitted(_marked(function)) if _HELPER in function.__globals__ else whole

    @functools.wraps(marked)
    def usual(*arrays: Any, **named: Any) -> Any:
        bound = functools.partial(marked, **named)
        closed, results = jax.make_jaxpr(bound, return_shape=True)(*arrays)
        given = jax.tree.leaves(arrays)
        # What has effects may not be done again; what waits for a number may do so forever.
        refused = closed.effects or _waits(closed) or _hides(closed)
        taken = not refused and _has_usual(closed, _CODES)
        if not taken and _has_marks(closed.jaxpr):
            return whole(*arrays, **named), ()
        made = _step(closed, *given) if taken else jaxpr_as_fun(closed)(*given)
        return jax.tree.unflatten(jax.tree.structure(results), made[taken:]), (*made[:taken],)

    return usual


class _UsualBranches(JaxprRewriter):
    """Takes usual branches, and collects whether they are right, ``wrong`` being what was so far.

    That is codes by their shape, 0 if so. Whether all are 0 is looked for once, by their bits: XLA
    for CPUs takes 60 ms to compile that, for many booleans 200. Those that checks give are 1 if not
    0, as nothing tells one from another. A ``while`` loop ends as soon as a step was not right:
    what it waits for may never come then.
    """

    enters = CALLS

    def __init__(self, wrong: Mapping[tuple[int, ...], Any]) -> None:
        self.wrong = dict(wrong)

    def takes(self, eqn: JaxprEqn) -> bool:
        """Whether an operator has such branches, or is a loop or a branch with some."""
        return _is_usual(eqn) or _is_code(eqn) or _is_around_usual(eqn)

    def computed(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of the usual branch; of the loop, or the branch, with these."""
        if _is_code(eqn):
            return [_unless(given[0])]
        name = eqn.primitive.name
        right, *results = _AROUND[name](eqn, given) if name in _AROUND else given
        codes = right if name == "reduce" else _unless(right)
        self.wrong[codes.shape] = self.wrong.get(codes.shape, 0) | codes
        if name != "reduce":
            return results
        shape = jnp.max(codes, eqn.params["dimensions"]).shape
        return [jnp.broadcast_to(none, shape) for none in results[1:]]


def _unless(right: Any) -> Any:
    """A code, or several: 0 if something is right, else 1."""
    return lax.convert_element_type(lax.bitwise_not(right), jnp.int32)


def _is_usual(eqn: JaxprEqn, codes: int = 0) -> bool:
    """Whether an operator is a usual branch, or looks for the first of so many codes."""
    if eqn.primitive.name == "reduce":
        return _is_in(eqn, _FIRST) and bool(eqn.invars[0].aval.size >= codes)
    return eqn.primitive is _MARK


def _is_code(eqn: JaxprEqn) -> bool:
    """Whether an operator gives codes among which the first is looked for."""
    return eqn.primitive.name == "select_n" and eqn.invars[0].aval.ndim > 0 and _is_in(eqn, _CODE)


def _is_in(eqn: JaxprEqn, scope: str) -> bool:
    return scope in str(eqn.source_info.name_stack).rpartition("/")[2]


def _is_around_usual(eqn: JaxprEqn) -> bool:
    """Whether an operator is a loop or a branch of somebody else with usual branches.

    Branches are computed with theirs for the sake of marks alone: a few codes are no reason.
    """
    if eqn.effects or eqn.primitive.name not in _AROUND:
        return False
    if eqn.primitive.name == "cond":
        return _has_marks(eqn)
    return any(_has_usual(f, _CODES_OF_STEPS) for f in _entered(eqn))


def _has_usual(closed: ClosedJaxpr, codes: int) -> bool:
    def has(eqn: JaxprEqn) -> bool:
        called = functions(eqn) if eqn.primitive.name in CALLS else ()
        inside = any(_has_usual(f, codes) for f in called)
        return inside or _is_usual(eqn, codes) or _is_around_usual(eqn)

    return any(map(has, closed.jaxpr.eqns))


def _has_marks(part: Any) -> bool:
    """Whether there is a mark in a function or an operator, in whatever is within these, too."""
    eqns = part.eqns if isinstance(part, Jaxpr) else (part,)
    return any(e.primitive is _MARK or any(map(_has_marks, _inner(e))) for e in eqns)


def _inner(eqn: JaxprEqn) -> list[Jaxpr]:
    """All functions that are parts of an operator."""
    parts = jax.tree.leaves([*eqn.params.values()])
    return [getattr(p, "jaxpr", p) for p in parts if isinstance(p, ClosedJaxpr | Jaxpr)]


def _hides(closed: ClosedJaxpr) -> bool:
    """Whether there is a mark where it stays: in the test of a loop, or a function's derivative."""
    for eqn in closed.jaxpr.eqns:
        entered = _entered(eqn)
        others = [f for f in _inner(eqn) if not any(f is e.jaxpr for e in entered)]
        if any(map(_has_marks, others)) or any(map(_hides, entered)):
            return True
    return False


def _entered(eqn: JaxprEqn) -> Sequence[ClosedJaxpr]:
    """The functions of an operator in which usual branches are taken."""
    name, parts = eqn.primitive.name, [*functions(eqn)]
    if name in CALLS:
        return parts[:1]
    if name == "while":
        return [eqn.params["body_jaxpr"]]
    return parts if name in _AROUND else []


def _waits(closed: ClosedJaxpr) -> bool:
    """Whether a ``while`` loop without such branches ends by what it computes, not by a counter.

    A function of the user may have one, which values that are not finite keep from its end.
    """
    loops = [e for e in closed.jaxpr.eqns if e.primitive.name == "while"]
    waiting = not all(_is_around_usual(e) or _counts(e) for e in loops)
    return waiting or any(map(_waits, (f for e in closed.jaxpr.eqns for f in functions(e))))


def _counts(loop: JaxprEqn) -> bool:
    """Whether a loop goes on while a counter, to which each step adds a number, is less."""
    tested, body = loop.params["cond_jaxpr"].jaxpr, loop.params["body_jaxpr"].jaxpr
    tests, place = tested.eqns, len(tested.invars)
    if [e.primitive.name for e in tests] == ["lt"] and tests[0].invars[0] in tested.invars:
        place = tested.invars.index(tests[0].invars[0]) - loop.params["cond_nconsts"]
    if not 0 <= place < len(body.outvars):
        return False
    counter, next_one = body.invars[loop.params["body_nconsts"] + place], body.outvars[place]
    made = (e for e in body.eqns if next_one in e.outvars and e.primitive.name == "add")
    return any(e.invars[0] is counter and isinstance(e.invars[1], Literal) for e in made)


def _step(body: ClosedJaxpr, *given: Any) -> list[Any]:
    """Whether a step is right, and its results with its usual branches."""
    branches = _UsualBranches({})
    results = branches.results(body, given)
    return [_is_right(branches.wrong), *results]


def _is_right(wrong: Mapping[tuple[int, ...], Any]) -> Any:
    fine = (jnp.bitwise_or.reduce(jnp.ravel(codes)) == 0 for codes in wrong.values())
    return functools.reduce(lax.bitwise_and, fine, jnp.bool_(True))


def _scanned(eqn: JaxprEqn, given: Sequence[Any]) -> list[Any]:
    """Whether all steps of a scan were right, and its results.

    Codes of all steps are combined element by element, and looked through at the end: in each step
    XLA would write them to memory first, or compute them in threads that it waits for. 2026-11-29,
    CPU ms of 200 steps with 500, 4000 and 20000 codes: 0.27, 3.0 and 13; 0.17, 1.1 and 4.6.
    """
    how = eqn.params
    first, last = how["num_consts"], how["num_consts"] + how["num_carry"]
    shapes = {(), *_shapes_of_codes(how["jaxpr"])}

    def step(carry: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        branches = _UsualBranches(carry[0])
        made = branches.results(how["jaxpr"], [*given[:first], *carry[1:], *rows])
        return [branches.wrong, *made[: last - first]], made[last - first :]

    start = [{shape: jnp.zeros(shape, jnp.int32) for shape in shapes}, *given[first:last]]
    options = {key: how[key] for key in ("length", "reverse", "unroll")}
    (wrong, *carry), made = lax.scan(step, start, [*given[last:]], **options)
    return [_is_right(wrong), *carry, *made]


def _shapes_of_codes(closed: ClosedJaxpr) -> Iterator[tuple[int, ...]]:
    """The shapes of all codes among which a function looks for the first."""
    for eqn in closed.jaxpr.eqns:
        if eqn.primitive.name in CALLS:
            yield from _shapes_of_codes(next(iter(functions(eqn))))
        elif eqn.primitive.name == "reduce" and _is_usual(eqn):
            yield eqn.invars[0].aval.shape


def _repeated(eqn: JaxprEqn, given: Sequence[Any]) -> list[Any]:
    """Whether all steps of a ``while`` loop were right, and its results."""
    how = eqn.params
    tested, first = how["cond_nconsts"], how["cond_nconsts"] + how["body_nconsts"]

    def goes_on(carry: list[Any]) -> Any:
        (test,) = jaxpr_as_fun(how["cond_jaxpr"])(*given[:tested], *carry[1:])
        return carry[0] & test

    def step(carry: list[Any]) -> list[Any]:
        return _step(how["body_jaxpr"], *given[tested:first], *carry[1:])

    return list(lax.while_loop(goes_on, step, [jnp.bool_(True), *given[first:]]))


def _branched(eqn: JaxprEqn, given: Sequence[Any]) -> list[Any]:
    """Whether the branch that is taken was right, and its results."""
    branches = [functools.partial(_step, f) for f in functions(eqn)]
    return list(lax.switch(given[0], branches, *given[1:]))


_AROUND = {"scan": _scanned, "while": _repeated, "cond": _branched}
"""How operators are computed that have functions with usual branches."""
