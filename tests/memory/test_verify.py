"""Broken plans must be caught; each is a good plan with one number changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.memory.plan_types import MemoryRelease
from tempoc.memory.proof import Prover
from tempoc.memory.verify import small_bounds, verify
from tempoc.program.nodes.buffers import BufferAxis, Key
from tempoc.symbolic.domain import Bound, Universe
from tempoc.symbolic.expr import ONE, TRUE, maximum
from tempoc.symbolic.parse import parse
from tests.memory.programs import FIBONACCI, RETURNS, RNN, STACK, planned
from tests.memory.test_plan import AHEAD, CAUSAL, WHOLE, WINDOWED

LAST = RNN.replace("OUT", "T-1")


def shrunk(plan, statements):
    """All plans in which one store has one slot less along one dimension."""
    for name, store in plan.stores.items():
        if statements.tensors[name].is_given:
            continue
        for i, key in enumerate(store.keys):
            if key.modulo != ONE:
                # Without a modulus: all points but the last have a slot of their own.
                less = (key.modulo or plan.extents[key.dim]) - 1
                keys = (
                    *store.keys[:i],
                    Key(dim=key.dim, modulo=at_least_one(less)),
                    *store.keys[i + 1 :],
                )
                yield f"{name} key {key.dim}", changed(plan, replace(store, keys=keys))
        for i, axis in enumerate(store.axes):
            size = at_least_one(axis.size - 1)
            axes = (
                *store.axes[:i],
                BufferAxis(dim=axis.dim, size=size, ring=True),
                *store.axes[i + 1 :],
            )
            yield f"{name} axis {axis.dim}", changed(plan, replace(store, axes=axes))


def at_least_one(e):
    return maximum(ONE, e)


def changed(plan, store):
    return replace(plan, stores={**plan.stores, store.name: store})


TIGHT = {
    "fibonacci": FIBONACCI, "rnn": WHOLE, "causal": CAUSAL, "windowed": WINDOWED, "ahead": AHEAD,
    "stack": STACK, "returns": RETURNS,
}  # fmt: skip


@pytest.mark.parametrize("name", TIGHT)
def test_one_slot_less_is_too_few(name):
    found = planned(TIGHT[name])
    mutants = list(shrunk(found.plan, found.statements))
    assert mutants
    statements, scheduled, outputs, space = found.rest
    prover = Prover(statements, scheduled.tree, outputs, space.universe)
    for what, plan in mutants:
        with pytest.raises(DiagnosticError, match="RT450"):
            verify(plan, *found.rest)
            pytest.fail(f"{what} with a slot less was not noticed")
        assert not prover.prove(plan).is_whole, what


@pytest.mark.parametrize(
    ("text", "statement", "release"),
    [
        (RETURNS, "g.1", MemoryRelease(tensor="v", key=(parse("t"),), where=TRUE)),
        (RETURNS, "g.0", MemoryRelease(tensor="v", key=(parse("T-1"),), where=TRUE)),
        (LAST, "h.1", MemoryRelease(tensor="h", key=(parse("t+1"),), where=TRUE)),
        (CAUSAL, "a", MemoryRelease(tensor="k", key=(parse("b"),), where=TRUE)),
        (
            STACK, "h.1.below",
            MemoryRelease(tensor="h", key=(parse("l"), parse("t-1")), where=parse("t >= 1")),
        ),
    ],
)  # fmt: skip
def test_freeing_too_early(text, statement, release):
    found = planned(text)
    releases = dict(found.plan.releases)
    releases[statement] = (*releases.get(statement, ()), release)
    with pytest.raises(DiagnosticError, match="RT450"):
        verify(replace(found.plan, releases=releases), *found.rest)


@pytest.mark.parametrize(("statement", "tensor"), [("g.1", "v"), ("e", "g"), ("y", "m")])
def test_giving_away_what_is_needed(statement, tensor):
    found = planned(RETURNS)
    donations = {**found.plan.donations, statement: (tensor,)}
    with pytest.raises(DiagnosticError, match="RT450"):
        verify(replace(found.plan, donations=donations), *found.rest)


def test_the_message_names_reader_tensor_and_bounds():
    found = planned(FIBONACCI)
    store = replace(found.plan.stores["f"], keys=(Key(dim="t", modulo=ONE),))
    with pytest.raises(DiagnosticError) as error:
        verify(changed(found.plan, store), *found.rest)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.message == "the memory plan loses f[0] before f.2 reads it"
    assert diagnostic.notes == ("its slot holds [1]", "for T = 3")


def test_small_bounds_respect_facts():
    universe = Universe(
        bounds=(
            Bound(name="P"), Bound(name="T"), Bound(name="L", value=parse("4")),
            Bound(name="N", value=parse("T-1")),
        ),
        assumptions=(parse("P <= T"),),
    )  # fmt: skip
    found = list(small_bounds(universe))
    assert {"P": 2, "T": 5, "L": 4, "N": 4} in found
    assert all(b["P"] <= b["T"] and b["N"] == b["T"] - 1 >= 1 for b in found)
