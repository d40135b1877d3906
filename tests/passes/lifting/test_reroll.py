"""Repeated steps that read their neighbours become a loop, and others do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.lifting.reroll import Reroll
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tests.support.agreement import agree
from tests.support.generators.graphs import Story, graph
from tests.support.golden import Golden

HEAD = """
bound T
dim t < T
%u0 = input{dtype=f32, shape=(4,)} : [t] f32[4]
%f = input{dtype=f32, shape=(4,)} : [t] f32[4]
"""


def _step(k: int, more: str = "%f") -> str:
    return f"""%p{k} = pad{{widths=((1, 1),)}} %u{k} : [t] f32[6]
%a{k} = getitem{{entries=((0, 4, 1),)}} %p{k} : [t] f32[4]
%b{k} = getitem{{entries=((2, 4, 1),)}} %p{k} : [t] f32[4]
%c{k} = add %a{k}, %b{k} : [t] f32[4]
%u{k + 1} = mul %c{k}, {more} : [t] f32[4]
"""


def _program(*steps: str, given: str = "") -> str:
    return HEAD + "".join(steps) + given + f"output u = %u{len(steps)}[T-1]\n"


DONE = {"six steps": _program(*map(_step, range(6)))}
LEFT = {
    "few steps": _program(*map(_step, range(3))),
    "a value on the way is given": _program(*map(_step, range(6)), given="output v = %u3[T-1]\n"),
    "each with numbers of its own": _program(
        *(
            f"%w{k} = input{{dtype=f32, shape=(4,)}} : [t] f32[4]\n" + _step(k, f"%w{k}")
            for k in range(6)
        )
    ),
    "no neighbours": _program(*(f"%u{k + 1} = mul %u{k}, %f : [t] f32[4]\n" for k in range(6))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePlace(GraphPass):
    """All nodes come from one place of a program, as those of a `for` do."""

    name: ClassVar[str] = "one_place"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """Without places."""
        nodes = {name: replace(node, spans=()) for name, node in graph.nodes.items()}
        return replace(graph, nodes=nodes)


def test_reroll(golden: Golden) -> None:
    story = Story()
    for name, text in DONE.items():
        story.tell(name, text, OnePlace(), Reroll(), rounded=True)
    golden("passes/reroll.txt", story.text)


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_written_out(name: str) -> None:
    before = graph(LEFT[name])
    context = PassContext(Space(before.universe))
    before = OnePlace().run(before, context)
    assert Reroll().run(before, context) is before


def test_compiled() -> None:
    agree(
        """dim t < T
input f: f32[5]
def swept(u, steps) {
  for k in range(steps) {
    p = pad(u, [[1, 1]])
    u = 0.5 * (p[0:5] + p[2:7]) + f
  }
  return u
}
u[0] = zeros([5])
u[t+1] = swept(u, 7)
output u
""",
        {"T": 3},
    )
