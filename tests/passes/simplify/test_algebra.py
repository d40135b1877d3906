"""Identities fire where they hold for every number, or up to rounding, and only there."""

from __future__ import annotations

import pytest

from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.rules.table import ROWS
from tempoc.pipeline.manager import Outcome
from tempoc.sdg.graph.graph import Graph
from tests.passes.simplify.identities import EXACT, HEAD, ROUNDED
from tests.passes.simplify.no_identities import SILENT
from tests.support.generators.graphs import Story, graph
from tests.support.golden import Golden


def program(lines: str) -> str:
    """A program of these nodes; all that do not help are outputs."""
    lines = lines.strip()
    names = [line.split()[0] for line in lines.splitlines() if not line.startswith("%n")]
    used = {word.strip(",").split("[")[0].split("@")[0] for word in lines.split()}
    head = [h for h in HEAD.splitlines() if not h.startswith("%") or h.split()[0] in used]
    head = [h for h in head if h != "dim j < T" or "[t, j" in lines]
    head = [h for h in head if h not in ("bound E = 3", "dim e < E") or "%V" in used]
    outputs = []
    for line in lines.split("\n"):
        name = line.split()[0]
        if name in names:
            entries = "[T-1]" if " : [t] " in line else ""
            outputs.append(f"output {name[1:]} = {name}{entries}")
    return "\n".join([*head, lines, *outputs, ""])


def test_each_row_has_a_case() -> None:
    """Several rows may have one name: a rule that is given by several equations."""
    assert list(dict.fromkeys(row.name for row in ROWS if row.exact)) == list(EXACT)
    assert list(dict.fromkeys(row.name for row in ROWS if not row.exact)) == list(ROUNDED)


def fired(outcome: Outcome[Graph]) -> set[str]:
    """The rows that were applied."""
    return {r.message.split(": ", 1)[1] for r in outcome.remarks}


def test_algebra(golden: Golden) -> None:
    story = Story()
    for name, lines in EXACT.items():
        assert name in fired(story.tell(name, program(lines), Algebra(exact=True)))
    for name, lines in ROUNDED.items():
        assert name in fired(story.tell(name, program(lines), Algebra(), rounded=True))
    golden("passes/algebra.txt", story.text)


@pytest.mark.parametrize("name", SILENT)
def test_what_is_no_identity_stays(name: str) -> None:
    text = program(SILENT[name])
    outcome = Story().tell(name, text, Algebra())
    assert outcome.remarks == ()
    assert outcome.graph == graph(text)


@pytest.mark.parametrize("name", ROUNDED)
def test_what_rounds_can_be_left_out(name: str) -> None:
    """All that is left then holds to the last bit."""
    outcome = Story().tell(name, program(ROUNDED[name]), Algebra(exact=True))
    assert name not in fired(outcome)


@pytest.mark.parametrize("name", [*EXACT, *ROUNDED])
def test_it_is_done_after_once(name: str) -> None:
    text = program((EXACT | ROUNDED)[name])
    once = Story().tell(name, text, Algebra(), rounded=True).graph
    assert Story().tell(name, text, Algebra(), Algebra(), rounded=True).graph == once
