"""Work grows in step with the program, or the program is refused; work is counted, never timed."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tempoc.base.limits import LIMITS, TABLE, Limits, flag_name
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.elaborate import elaborate
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tests.scaling.programs import FAMILIES
from tests.support.session.long import examples, sampled

DOUBLED = 2.6
"""The most that a program of twice the size may cost."""
SQUARED = 5.0
"""The same where each of `n` entries is about `n` dimensions."""
LINEAR = {
    "points": 40, "branches": 40, "shared": 16, "calls": 60, "unrolled": 60, "stacked": 60,
    "chain": 60, "scans": 40, "conds": 20, "reads": 40, "sums": 60, "brackets": 100, "closing": 100,
    "stray_lines": 100, "outside": 40, "intervals": 16, "derived_intervals": 16, "boxes": 16,
}  # fmt: skip
"""Families whose work is in proportion to `n`, and the `n` at which that is measured."""
COMPILED = ("branches", "conds", "reads", "scans")
"""Families of which compiling takes work in proportion to `n` as well."""
QUADRATIC = {"dims": 12}
"""Families whose work grows with the square."""
REFUSED = {
    "doubling": (30, Limits(calls=2000), "calls"),
    "unrolled": (2001, Limits(calls=2000), "calls"),
    "calls": (600, Limits(operators=1000), "operators"),
    "shared": (70, LIMITS, "call_depth"),
    "records": (40, LIMITS, "leaves"),
    "moduli": (40, LIMITS, "divisions"),
    "moduli_without_end": (40, LIMITS, "divisions"),
    "quotients": (40, LIMITS, "divisions"),
    "branches": (40, Limits(isl_steps=500), "isl_steps"),
}
"""Families that reach a limit, with the `n` and the limits at which they do."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a program is refused with, and at which line (0: nowhere)."""

    code: str
    message: str
    help: str
    line: int


def check(text: str, limits: Limits = LIMITS) -> Refusal | None:
    """Elaborate a program; what it is refused with."""
    try:
        elaborate(load_source(Source("m.rt", text), tolerant=True), {}, limits)
    except DiagnosticError as error:
        first = error.diagnostics[0]
        line = first.primary.span.line if first.primary else 0
        return Refusal(first.code, first.message, first.help or "", line)
    return None


def calls_of(action: Callable[[], Any]) -> int:
    """How many functions an action calls."""
    profile = cProfile.Profile()
    profile.runcall(action)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def work(name: str, n: int) -> int:
    """The calls that checking a program takes."""
    return calls_of(lambda: check(FAMILIES[name](n)))


@pytest.mark.parametrize("name", sampled([*LINEAR, *QUADRATIC], "more families", of=2))
def test_work_grows_in_step(name: str) -> None:
    n, most = (LINEAR[name], DOUBLED) if name in LINEAR else (QUADRATIC[name], SQUARED)
    check(FAMILIES[name](2))  # what is computed once in a process
    assert work(name, 2 * n) < most * work(name, n)


@pytest.mark.parametrize("name", COMPILED)
def test_the_work_of_compiling_grows_in_step(name: str) -> None:
    def compiling(n: int) -> int:
        # Of programs with the usual name some are verified as well.
        loaded = load_source(Source("grown.rt", FAMILIES[name](n)), tolerant=True)
        return calls_of(lambda: Compilation(loaded, Options()).emitted)

    compiling(2)  # what is computed once in a process
    n = examples(12, long=20)
    few = compiling(n)  # before the larger one, which would leave it answers that it remembers
    assert compiling(2 * n) < DOUBLED * few


def test_going_through_statements_takes_a_step_for_each() -> None:
    def nested(depth: int) -> prog.ProgramStatement:
        tree: prog.ProgramStatement = prog.Sequence(items=())
        for _ in range(depth):
            tree = prog.Guard(condition=ix.TRUE, body=tree)
        return tree

    def work_at(depth: int) -> int:
        tree = nested(depth)
        return calls_of(lambda: [*statements_in(tree)])

    assert work_at(80) < DOUBLED * work_at(40)


def test_the_measure_tells_powers_apart() -> None:
    def square(n: int) -> None:
        for _ in range(n):
            for _ in range(n):
                abs(n)

    assert calls_of(lambda: square(40)) > DOUBLED * calls_of(lambda: square(20))


@pytest.mark.parametrize("name", sampled(REFUSED, "more families", of=2))
def test_what_explodes_is_refused_by_its_limit(name: str) -> None:
    n, limits, limit = REFUSED[name]
    refusal = check(FAMILIES[name](n), limits)
    assert refusal is not None and refusal.code == "RT106"
    most = limits[limit]
    start = f"the limit `{flag_name(limit)}` is reached: more than {most}"
    assert refusal.message.startswith(start)
    assert f"`--limit {flag_name(limit)}={2 * most}`" in refusal.help
    assert refusal.line > 1


@pytest.mark.parametrize("name", REFUSED)
def test_smaller_ones_are_not(name: str) -> None:
    assert check(FAMILIES[name](2)) is None


def test_every_family_is_measured_or_refused() -> None:
    # minima: the cases of n minima are counted one by one; mistakes: names are compared with all.
    assert {*FAMILIES} - {*LINEAR, *QUADRATIC, *REFUSED} == {
        "minima",
        "mistakes",
        "constants",
        "shapes",
    }
    assert {limit for _, _, limit in REFUSED.values()} == {*TABLE} - {"range_length"}


def test_raised_limits_are_kept_with_the_program() -> None:
    options = Options(limits=Limits(calls=7, isl_steps=8))
    assert Options.from_provenance(options.to_provenance()).limits == options.limits
    assert not any(key.startswith("limit.") for key in Options().to_provenance())


def test_the_highest_depth_of_calls_is_within_the_stack() -> None:
    highest = TABLE["call_depth"].highest
    assert check(FAMILIES["shared"](highest - 1), Limits(call_depth=highest)) is None
