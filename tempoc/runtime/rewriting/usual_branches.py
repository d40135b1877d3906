"""Kernels on CPUs with the branches that nearly all data take; others are compiled when they do.

A kernel may have two ways to compute something: one for data that are finite, one for all. XLA
would compile both, and fuses nothing into a branch. Here it compiles the usual branches in place,
also in loops, and the kernel tells whether they were right. If not, nothing of its results is kept,
and the kernel is called as it is. So the data alone decide which of both gives the results. Usually
no check fails either: which of many does first is looked for when one did.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal, jaxpr_as_fun

from tempoc.runtime.rewriting.rewriter import CALLS, LOOPS, JaxprRewriter, functions

_HELPER, _SCOPE = "usually", "usual_branch_first"
"""The function of kernels that has these branches; the scope of JAX in which it does."""
_CHECK, _FIRST = "first_lane", "first_code"
"""The function that looks for the first code that is not 0, and its scope."""
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
) -> Callable[..., Any]:
    """A kernel that is compiled with its usual branches first, if it has some and is on a CPU.

    ``compile_kernel`` also takes a text that tells both functions apart. A kernel that overwrites
    arguments, which are ``donated``, could not be called again. Data that are not usual in two
    calls, one after the other, are taken to stay so.
    """
    known = getattr(inspect.unwrap(function), "__globals__", {})
    if donated or not known.keys() & {_HELPER, _CHECK} or jax.default_backend() != "cpu":
        return compile_kernel(function, "")
    usual = compile_kernel(_with_usual_branches(function), _HELPER)
    plain: Callable[..., Any] | None = None
    wrong = 0

    def call(*arrays: Any) -> Any:
        nonlocal plain, wrong
        if wrong < 2:
            results, right = usual(*arrays)
            # Within a trace there are no numbers yet.
            if not any(isinstance(r, jax.core.Tracer) or not r for r in right):
                wrong = 0
                return results
            wrong += 1
            del results  # no room is taken twice
        plain = plain or compile_kernel(function, "")
        return plain(*arrays)

    return call


def _with_usual_branches(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its usual branches, which also tells whether they are right.

    That is one boolean, or none if it has no such branches.
    """

    @functools.wraps(function)
    def usual(*arrays: Any, **named: Any) -> Any:
        bound = functools.partial(function, **named)
        closed, results = jax.make_jaxpr(bound, return_shape=True)(*arrays)
        given = jax.tree.leaves(arrays)
        # What has effects may not be done again; what waits for a number may do so forever.
        if closed.effects or not _has_usual(closed, _CODES) or _waits(closed):
            return jax.tree.unflatten(jax.tree.structure(results), jaxpr_as_fun(closed)(*given)), ()
        right, *values = _step(closed, jnp.bool_(True), given, _CODES)
        return jax.tree.unflatten(jax.tree.structure(results), values), (right,)

    return usual


class _UsualBranches(JaxprRewriter):
    """Takes usual branches, and collects the conditions under which they are right.

    Whether codes of arrays of one shape are 0 is looked for once: XLA for CPUs compiles three loops
    to look through many. A loop carries whether all steps were right. A ``while`` loop ends as soon
    as they were not: what it waits for may never come then.
    """

    enters = CALLS

    def __init__(self, codes: int) -> None:
        self.right: list[Any] = []
        self.wrong: dict[tuple[int, ...], Any] = {}
        self.codes = codes

    def takes(self, eqn: JaxprEqn) -> bool:
        """Whether an operator has such branches, or is a loop with some."""
        return _is_usual(eqn, self.codes) or _is_usual_loop(eqn)

    def computed(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of the usual branch, the last one; of the loop with these."""
        if eqn.primitive.name == "cond":
            self.right.append(given[0] != 0)
            return self.results([*functions(eqn)][-1], given[1:])
        if eqn.primitive.name == "reduce":
            wrong, places = given[0] != 0, given[0].shape
            self.wrong[places] = self.wrong.get(places, False) | wrong
            shape = jnp.max(given[0], eqn.params["dimensions"]).shape
            return [jnp.broadcast_to(none, shape) for none in given[2:]]
        right, *results = (_scanned if eqn.primitive.name == "scan" else _repeated)(eqn, given)
        self.right.append(right)
        return results


def _is_usual(eqn: JaxprEqn, codes: int = 0) -> bool:
    """Whether an operator has such branches, or looks for the first of so many codes.

    What is within a branch has scopes of its own.
    """
    scope = str(eqn.source_info.name_stack).rpartition("/")[2]
    if eqn.primitive.name == "reduce" and _FIRST in scope:
        return bool(eqn.invars[0].aval.size >= codes)
    return eqn.primitive.name == "cond" and _SCOPE in scope


def _is_usual_loop(eqn: JaxprEqn) -> bool:
    body = [*functions(eqn)][-1:] if eqn.primitive.name in LOOPS and not eqn.effects else ()
    return any(_has_usual(step, _CODES_OF_STEPS) for step in body)


def _has_usual(closed: ClosedJaxpr, codes: int) -> bool:
    def has(eqn: JaxprEqn) -> bool:
        called = functions(eqn) if eqn.primitive.name in CALLS else ()
        inside = any(_has_usual(f, codes) for f in called)
        return inside or _is_usual(eqn, codes) or _is_usual_loop(eqn)

    return any(map(has, closed.jaxpr.eqns))


def _waits(closed: ClosedJaxpr) -> bool:
    """Whether a ``while`` loop without such branches ends by what it computes, not by a counter.

    A function of the user may have one, which values that are not finite keep from its end.
    """
    for eqn in closed.jaxpr.eqns:
        if eqn.primitive.name == "while" and not (_is_usual_loop(eqn) or _counts(eqn)):
            return True
        if any(map(_waits, [*functions(eqn)][-1:] if _is_usual(eqn) else functions(eqn))):
            return True
    return False


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


def _step(
    body: ClosedJaxpr, right: Any, given: Sequence[Any], codes: int = _CODES_OF_STEPS
) -> list[Any]:
    """Whether all steps so far were right, and the results of a step with its usual branches."""
    branches = _UsualBranches(codes)
    results = branches.results(body, given)
    fine = [~jnp.any(wrong) for wrong in branches.wrong.values()]
    return [functools.reduce(lax.bitwise_and, [*branches.right, *fine], right), *results]


def _scanned(eqn: JaxprEqn, given: Sequence[Any]) -> list[Any]:
    """Whether all steps of a scan were right, and its results."""
    how = eqn.params
    first, last = how["num_consts"], how["num_consts"] + how["num_carry"]

    def step(carry: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        made = _step(how["jaxpr"], carry[0], [*given[:first], *carry[1:], *rows])
        return made[: len(carry)], made[len(carry) :]

    start, rows = [jnp.bool_(True), *given[first:last]], [*given[last:]]
    options = {key: how[key] for key in ("length", "reverse", "unroll")}
    carry, made = lax.scan(step, start, rows, **options)
    return [*carry, *made]


def _repeated(eqn: JaxprEqn, given: Sequence[Any]) -> list[Any]:
    """Whether all steps of a ``while`` loop were right, and its results."""
    how = eqn.params
    tested, first = how["cond_nconsts"], how["cond_nconsts"] + how["body_nconsts"]

    def goes_on(carry: list[Any]) -> Any:
        (test,) = jaxpr_as_fun(how["cond_jaxpr"])(*given[:tested], *carry[1:])
        return carry[0] & test

    def step(carry: list[Any]) -> list[Any]:
        return _step(how["body_jaxpr"], carry[0], [*given[tested:first], *carry[1:]])

    return list(lax.while_loop(goes_on, step, [jnp.bool_(True), *given[first:]]))
