"""Kernels on CPUs with the branches that nearly all data take; others are compiled when they do.

A kernel may have two ways to compute something: one for data that are finite, one for all. XLA
would compile both, and fuses nothing into a branch. Here it compiles the usual branches in place,
and the kernel tells whether they were right. If not, nothing of its results is kept, and the kernel
is called as it is. So the data alone decide which of both gives the results.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, JaxprEqn

from tempoc.runtime.rewriting.rewriter import CALLS, JaxprRewriter, functions

_HELPER, _SCOPE = "usually", "usual_branch_first"
"""The function of kernels that has these branches; the scope of JAX in which it does."""


def compiled_as_usual(
    compile_kernel: Callable[[Callable[..., Any], str], Callable[..., Any]],
    function: Callable[..., Any],
    donated: Sequence[int],
) -> Callable[..., Any]:
    """A kernel that is compiled with its usual branches first, if it has some and is on a CPU.

    ``compile_kernel`` also takes a text that tells both functions apart. A kernel that overwrites
    arguments, which are ``donated``, could not be called again.
    """
    known = getattr(inspect.unwrap(function), "__globals__", {})
    if donated or _HELPER not in known or jax.default_backend() != "cpu":
        return compile_kernel(function, "")
    usual = compile_kernel(_with_usual_branches(function), _HELPER)
    plain: Callable[..., Any] | None = None

    def call(*arrays: Any) -> Any:
        nonlocal plain
        results, right = usual(*arrays)
        # Within a trace there are no numbers yet.
        if not any(isinstance(r, jax.core.Tracer) for r in right) and all(map(bool, right)):
            return results
        plain = plain or compile_kernel(function, "")
        return plain(*arrays)

    return call


def _with_usual_branches(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its usual branches, which also tells whether they are right.

    That is one boolean, or none if it has no such branches outside of loops.
    """

    @functools.wraps(function)
    def usual(*arrays: Any, **named: Any) -> Any:
        bound = functools.partial(function, **named)
        closed, results = jax.make_jaxpr(bound, return_shape=True)(*arrays)
        branches = _UsualBranches(may_repeat=not closed.effects)
        values = branches.results(closed, jax.tree.leaves(arrays))
        right = branches.right
        tests = (functools.reduce(jax.lax.bitwise_and, right),) if right else ()
        return jax.tree.unflatten(jax.tree.structure(results), values), tests

    return usual


class _UsualBranches(JaxprRewriter):
    """Takes usual branches, and collects the conditions under which they are right."""

    enters = CALLS

    def __init__(self, may_repeat: bool) -> None:
        self.may_repeat = may_repeat
        self.right: list[Any] = []

    def takes(self, eqn: JaxprEqn) -> bool:
        """Whether an operator has such branches. What is in a branch has a scope of its own."""
        scope = str(eqn.source_info.name_stack).rpartition("/")[2]
        return self.may_repeat and eqn.primitive.name == "cond" and _SCOPE in scope

    def computed(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of the usual branch, the last one."""
        self.right.append(given[0] != 0)
        usual: ClosedJaxpr = [*functions(eqn)][-1]
        return self.results(usual, given[1:])
