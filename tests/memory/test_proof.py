"""Plans proved for all bounds: what is proved, what is not, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.memory import proof_text
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.memory.plan import plan
from tempoc.memory.plan_types import MemoryRelease
from tempoc.memory.proof import Prover, prove
from tempoc.memory.verify import verify
from tempoc.program.nodes.buffers import BufferAxis, Key
from tempoc.symbolic.domain import Bound, Universe
from tempoc.symbolic.expr import ONE, TRUE, Const, Sym, compare, maximum
from tests.memory.programs import FIBONACCI, RETURNS, RNN, STACK, Planned, planned
from tests.memory.test_plan import AHEAD, CAUSAL, LAST, WHOLE, WINDOWED

SPARSE = """
sdg sparse
bound T
dim t < T
assume T >= 5

%x = input{dtype=f32, shape=(3,)} : [t] f32[3]
%a = tanh %x : [t | t % 4 == 0] f32[3]
%b = add %a[t-4], %a : [t | t % 4 == 0 and t >= 4] f32[3]
%c = exp %b : [t | t % 4 == 0 and t >= 4] f32[3]

output c = %c[4*((T-1)//4)]
"""
PLACES_IN_TILES = """
sdg places
bound T
bound tiles = (T+2)//3
bound rows = 3
dim t < T
dim tile < tiles
dim row < rows

%x = input{dtype=f32} : [t] f32
%a = exp %x[min(T-1, row+3*tile)] : [tile, row* | row < T] f32
%b = neg %a[min(T-1, row+3*tile)//3, min(T-1, row+3*tile)%3] : [tile, row* | row < T] f32

output b = %b[tiles-1, 0]
"""
EPISODES = """dim i < I
dim t < T until stop
dim n < N = (T + 3) // 4
input c0[i]: i32
w[0] = 0
w[i+1] = w[i] + last[i]
c[i, 0] = c0[i]
c[i, t+1] = where(c[i, t] % 2 == 0, c[i, t] // 2, 3 * c[i, t] + 1)
stop = c == 1
last = c[t = T-1]
block[i, n] = sum(c[i, 4*n:min(4*n+4, T)])
blocks = sum(block[n = 0:N])
before[0] = 0
before[i] = last[i-1] + c[i-1, 0] + w[i] when i >= 1
output before, blocks, last
"""
TEXTS = {
    "fibonacci": FIBONACCI, "last": LAST, "whole": WHOLE, "causal": CAUSAL, "windowed": WINDOWED,
    "ahead": AHEAD, "stack": STACK, "returns": RETURNS, "places in tiles": PLACES_IN_TILES,
}  # fmt: skip


def prover(found: Planned) -> Prover:
    return Prover(found.statements, found.scheduled.tree, found.graph.outputs, found.space.universe)


@pytest.mark.parametrize("name", TEXTS)
def test_plans_are_proved(name: str) -> None:
    found = planned(TEXTS[name])
    assert prover(found).prove(found.plan).is_whole


def test_growing_stores_are_proved() -> None:
    found = planned(CAUSAL)
    grown = plan(found.statements, found.scheduled, found.graph.outputs, found.space, least=8)
    assert grown.needs
    assert prover(found).prove(grown).is_whole
    (need,) = grown.needs["k"]
    late = replace(need, rows=(Sym("t"),), sure=(Sym("t"),))
    proof = prover(found).prove(replace(grown, needs={**grown.needs, "k": (late,)}))
    assert dict(proof.unproved) == {"k": "k may need more rows than there are"}
    hasty = replace(need, sure=(Sym("t") + 2,))
    assert not prover(found).prove(replace(grown, needs={**grown.needs, "k": (hasty,)})).is_whole
    proof = prover(found).prove(replace(grown, needs={}))
    assert list(proof.unproved) == ["k"]


@pytest.mark.parametrize("level", [0, 2])
def test_lengths_that_vary_are_proved(level: int) -> None:
    compilation = Compilation(load_source(Source("m.rt", EPISODES)), Options(level=level))
    assert compilation.proof.is_whole


def moved(found: Planned, tensor: str, **changes):
    store = replace(found.plan.stores[tensor], **changes)
    return replace(found.plan, stores={**found.plan.stores, tensor: store})


def test_reasons() -> None:
    found = planned(FIBONACCI)
    one = moved(found, "f", keys=(Key(dim="t", modulo=ONE),))
    assert dict(prover(found).prove(one).unproved) == {
        "f": "f.1 may overwrite it before f.2 reads it"
    }
    found = planned(RETURNS)
    small = moved(found, "e", axes=(BufferAxis(dim="t", size=Sym("T") - 1),))
    assert dict(prover(found).prove(small).unproved) == {"e": "e may write where it has no slot"}
    narrow = moved(found, "e", shape=(Const(2),))
    assert dict(prover(found).prove(narrow).unproved) == {
        "e": "e may write a value larger than its slot"
    }
    ring = BufferAxis(dim="t", size=maximum(ONE, Sym("T") - 1), ring=True)
    proof = prover(found).prove(moved(found, "e", axes=(ring,)))
    assert dict(proof.unproved) == {"e": "e may overwrite it before m reads it"}
    freed = (*found.plan.releases.get("e", ()), MemoryRelease(tensor="e", key=(), where=TRUE))
    early = replace(found.plan, releases={**found.plan.releases, "e": freed})
    assert dict(prover(found).prove(early).unproved) == {"e": "e may free it before m uses it"}
    given = {**found.plan.donations, "g.1": ("v",)}
    proof = prover(found).prove(replace(found.plan, donations=given))
    assert dict(proof.unproved) == {"v": "g.1 may free it before y reads it"}


def test_what_runs_too_late_is_not_proved() -> None:
    """The schedule turned round: the proof follows the tree, not what the planner was told."""
    found = planned(RNN.replace("OUT", "T-1"))
    tree = found.scheduled.tree
    turned = replace(tree, items=tree.items[::-1])
    proof = prove(found.plan, found.statements, turned, found.graph.outputs, found.space.universe)
    assert "h" in proof.unproved


def test_remainders_decide_where_distance_does_not() -> None:
    """Every fourth cell is there: in 3 slots each has neighbours 4 apart, but in other slots."""
    found = planned(SPARSE)
    for slots, is_right in ((1, False), (2, False), (3, True), (4, False), (5, True)):
        changed = moved(found, "a", keys=(Key(dim="t", modulo=Const(slots)),))
        assert prover(found).prove(changed).is_whole == is_right, slots
        if is_right:
            verify(changed, *found.rest)
        else:
            with pytest.raises(DiagnosticError, match="RT450"):
                verify(changed, *found.rest)


def test_what_is_too_hard_is_not_proved() -> None:
    found = planned(WINDOWED)
    hard = prover(found)
    hard.formulas.steps = 1
    proof = hard.prove(found.plan)
    assert "it is too hard to tell" in proof.unproved.values()


def test_nothing_follows_from_bounds_that_cannot_be() -> None:
    found = planned(FIBONACCI)
    never = (compare(">", Sym("T"), Sym("N")), compare(">", Sym("N"), Sym("T")))
    universe = Universe(
        bounds=(*found.space.universe.bounds, Bound(name="N")),
        dims=found.space.universe.dims,
        assumptions=never,
    )
    proof = prove(found.plan, found.statements, found.scheduled.tree, found.graph.outputs, universe)
    assert dict(proof.unproved) == {"f": "no bounds are allowed"}


def test_the_text_says_what_is_not_proved() -> None:
    found = planned(FIBONACCI)
    proof = prover(found).prove(moved(found, "f", keys=(Key(dim="t", modulo=ONE),)))
    assert proof_text(proof) == (
        "not proved for all bounds, but replayed at small ones (1, 2, 3, 5, beyond windows):\n"
        "  f: f.1 may overwrite it before f.2 reads it\n"
    )
