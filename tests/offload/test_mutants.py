"""Programs with one move wrong are noticed, or do what the right one does: runs tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tempoc.offload.rewrite import NEAR
from tempoc.program.analysis.verify_made import verify_made
from tempoc.program.nodes.errors import ProgramError
from tempoc.program.nodes.nodes import (
    Evict,
    Free,
    Guard,
    Load,
    Loop,
    Program,
    ProgramStatement,
    Sequence,
)
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import Settings, run_given
from tests.offload.test_runs import DEEP, PARAMS, RING
from tests.support.agreement import data, free_bounds
from tests.support.offloading import all_away, loaded

BACK = """
dim t < T
input x[t]: f32[4]
input W: f32[4, 4]
h[0] = x[0]
h[t] = tanh(W @ h[t-1] + x[t]) when t >= 1
g[T-1] = h[T-1]
g[t] = tanh(g[t+1] * h[t]) - x[t] when t < T-1
output g[0] as found
"""
HOW = {"regions": False, "apart": True, "bucket": 0}
Other = tuple[ProgramStatement, ...]


def others(s: ProgramStatement) -> Iterator[ProgramStatement]:
    """The statement with one move in it changed, in every way."""
    if isinstance(s, Sequence):
        for k, item in enumerate(s.items):
            for changed in others(item):
                yield Sequence(items=(*s.items[:k], changed, *s.items[k + 1 :]))
            for found in instead(item):
                yield Sequence(items=(*s.items[:k], *found, *s.items[k + 1 :]))
    elif isinstance(s, Loop | Guard):
        yield from (replace(s, body=body) for body in others(s.body))


def instead(s: ProgramStatement) -> Iterator[Other]:
    """What a move could be mistaken for: none of a cell, a drop, of a cell that others have."""
    if isinstance(s, Load | Evict):
        for k, cell in enumerate(s.cells):
            left = s.cells[:k] + s.cells[k + 1 :]
            rest = (replace(s, cells=left),) if left else ()
            yield rest
            if isinstance(s, Evict):
                yield (*rest, Evict(cells=(cell,), dead=not s.dead))
    if isinstance(s, Free):
        yield ()


@pytest.mark.parametrize("text", [RING, DEEP, BACK, PARAMS], ids=["ring", "deep", "back", "params"])
def test_a_wrong_move_is_noticed_or_does_no_harm(text: str) -> None:
    compilation, plain = loaded(text, **HOW)
    bounds = dict(zip(free_bounds(text), (3, 2), strict=False))
    inputs = data(compilation.graph, bounds, special=False)
    names = [i.name for i in plain.program.inputs]
    params = {"w": np.eye(4, dtype=np.float32)[None].repeat(2, 0)} if "param w" in text else {}
    sources = as_sources({n: v for n, v in inputs.items() if n in names}), as_sources(params)
    given = Given(bounds=bounds, inputs=sources[0], params=sources[1])
    right = all_away(plain.program, NEAR)

    def run(program: Program) -> dict[str, np.ndarray]:
        moving = LoadedProgram(program=program, functions=plain.functions)
        return dict(run_given(moving, given, Settings(account=True)).outputs)

    wanted = run(right)
    noticed, harmless = 0, 0
    for tree in others(right.tree):
        wrong = replace(right, tree=tree)
        try:
            verify_made(wrong)
        except ProgramError:
            noticed += 1
            continue
        harmless += 1
        for name, value in run(wrong).items():
            np.testing.assert_array_equal(value, wanted[name], err_msg=name)
    assert noticed > harmless
