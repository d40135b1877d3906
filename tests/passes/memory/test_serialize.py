"""Large points one after the other where loops run: which nodes lose their star, which sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given as drawn, note

from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.driver.pipelines import O2, with_serialize
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.memory.accumulate import Accumulate
from tempoc.passes.memory.serialize import Serialize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import SIZES, assert_close, graph, meaning
from tests.support.generators.mixes import mixes
from tests.support.generators.programs import Program
from tests.support.generators.settings import generated
from tests.support.golden import Golden

HEAD = """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(8,)} : [b, t] f32[8]
%h.0 = full{shape=(8,), value=0.5, dtype=f32} : [b*] f32[8]
%h.1 = add %h[b, t-1], %x[b, t-1] : [b*, t | t >= 1] f32[8]
%h = merge{targets=((b, 0), (b, t))} %h.0 when t == 0, %h.1 when t >= 1 : [b, t] f32[8]
"""
STARS = """
%d = exp %h : [b*, t*] f32[8]
%v = sum{axes=(0,)} %d : [b*, t*] f32
%w = neg %v : [b*, t*] f32
"""
SUM = '%g = einsum{spec="bti,btj->ij"} %d[0:B, 0:T], %h[0:B, 0:T] : [] f32[8, 8]'
OUT = """
output w = %w[0:B, 0:T]
output g = %g
"""
TEXT = f"{HEAD}{STARS}{SUM}{OUT}"


def walked(before: Graph, piece: int, **told: int) -> Graph:
    """The graph after both passes, verified; it means the same up to rounding."""
    space = Space(before.universe)
    steps = Serialize(piece=piece), Accumulate(piece=piece)
    context = PassContext(space, size_hints=told)
    after = run_pipeline(before, steps, context, verify=lambda g, s: verify(g, space, after=s))
    for size in SIZES:
        wanted, found = meaning(before, size), meaning(after.graph, size)
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    return after.graph


def stars(found: Graph) -> set[str]:
    """The nodes that compute all points of `t` at once."""
    return {name for name, node in found.nodes.items() if "t" in node.vector}


def test_large_points_become_steps(golden: Golden) -> None:
    after = walked(graph(TEXT), 256, B=8)
    assert stars(after) == {"w"}
    golden("passes/walk.txt", f"{show(after, sources=False).split(chr(10), 1)[1]}")


@pytest.mark.parametrize(("piece", "left"), [(32, set()), (256, {"w"}), (257, {"d", "v", "w"})])
def test_pieces_count_what_other_stars_compute(piece: int, left: set[str]) -> None:
    assert stars(walked(graph(TEXT), piece, B=8)) == left


def test_the_more_there_is_at_once_the_larger_are_pieces() -> None:
    assert stars(walked(graph(TEXT), 4096, B=8)) == {"d", "v", "w"}
    assert stars(walked(graph(TEXT), 4096, B=128)) == {"w"}


def test_nothing_loops_that_did_not() -> None:
    alone = TEXT.replace("%h", "%x").replace("%x.", "%h.").replace("%x = merge", "%h = merge")
    lines = [line for line in alone.splitlines() if not line.startswith("%h")]
    before = graph("\n".join(lines))
    assert walked(before, 1, B=8, T=8) == before


def test_weights_are_not_in_pieces() -> None:
    """What is the same at all points is there anyway."""
    before = graph(
        f"{HEAD}%w = input{{dtype=f32, shape=(64, 8)}} : [] f32[64, 8]\n"
        "%n = sum{axes=(0,)} %h : [b*, t*] f32\n"
        "%d = sum{axes=(0, 1)} %w : [b*, t*] f32\n"
        "%v = add %n, %d : [b*, t*] f32\noutput v = %v[0:B, 0:T]\n"
    )
    assert stars(walked(before, 2048, B=8)) == {"n", "d", "v"}


@drawn(program=mixes())
@generated(3, long=10)
def test_generated_programs_keep_their_meaning(program: Program) -> None:
    note(program.text)
    before = elaborate(load_source(Source("generated.rt", program.text)), {})
    space = Space(before.universe)
    steps = tuple(
        replace(s, piece=1) if isinstance(s, Serialize | Accumulate) else s
        for s in with_serialize(O2)
    )
    context = PassContext(space)
    after = run_pipeline(
        before, steps, context, verify=lambda g, s: verify(g, context.space, after=s)
    )
    assert_close(before, after.graph)
