"""Pipelines of steps on plain integers: order, records, texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.pipeline.manager import run_pipeline
from tempoc.pipeline.order import OrderError, check_order
from tempoc.pipeline.spec import parse_pipeline, show_pipeline
from tempoc.pipeline.step import Remarks


@dataclass(frozen=True)
class Here:
    remarks: Remarks = field(default_factory=Remarks)


@dataclass(frozen=True, kw_only=True)
class Add:
    name: ClassVar[str] = "add"
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    before: ClassVar[tuple[str, ...]] = ("halved",)
    by: int = 1
    loud: bool = False
    word: str = "plain"

    def run(self, graph: int, context: Here) -> int:
        if self.loud:
            context.remarks.add(self.name, f"adding {self.by}")
        return graph + self.by


@dataclass(frozen=True, kw_only=True)
class Halve:
    name: ClassVar[str] = "halve"
    needs: ClassVar[tuple[str, ...]] = ("even",)
    gives: ClassVar[tuple[str, ...]] = ("halved",)
    before: ClassVar[tuple[str, ...]] = ()

    def run(self, graph: int, context: Here) -> int:
        return graph // 2


REGISTRY = {"add": Add, "halve": Halve}


def test_steps_run_in_order_and_are_recorded() -> None:
    seen: list[tuple[int, str]] = []
    outcome = run_pipeline(
        3,
        [Add(loud=True), Add(by=0), Halve()],
        Here(),
        verify=lambda g, s: seen.append((g, s)),
        holding=("even",),
    )
    assert outcome.graph == 2
    assert seen == [(4, "add"), (4, "add"), (2, "halve")]
    assert outcome.after("add") == (4, 4)
    assert [r.changed for r in outcome.records] == [True, False, True]
    assert [len(r.remarks) for r in outcome.records] == [1, 0, 0]
    assert [r.message for r in outcome.remarks] == ["adding 1"]


def test_a_step_that_had_nothing_to_do_is_not_run_again() -> None:
    runs: list[int] = []

    @dataclass(frozen=True, kw_only=True)
    class Even(Add):
        name: ClassVar[str] = "even"

        def run(self, graph: int, context: Here) -> int:
            runs.append(graph)
            context.remarks.add(self.name, f"saw {graph}")
            return graph + graph % 2

    steps = [Even(), Even(), Add(by=0), Even(by=2), Even(), Add(), Even(), Even()]
    outcome = run_pipeline(3, steps, Here())
    # The first has changed the graph; the fourth is another step.
    assert runs == [3, 4, 4, 5, 6]
    assert [r.message for r in outcome.remarks] == [f"saw {n}" for n in (3, 4, 4, 4, 5, 6)]
    assert [r.after for r in outcome.records] == [4, 4, 4, 4, 4, 5, 6, 6]
    assert [r.changed for r in outcome.records] == [k in (0, 5, 6) for k in range(8)]

    again = run_pipeline(3, steps, Here(), past=outcome.records[:3])
    assert runs == [3, 4, 4, 5, 6, 4, 5, 6]
    assert again.graph == 6


def test_a_verifier_stops_the_run() -> None:
    def verify(graph: int, step: str) -> None:
        raise ArithmeticError(step)

    with pytest.raises(ArithmeticError, match="add"):
        run_pipeline(1, [Add()], Here(), verify=verify)


def test_order() -> None:
    check_order([Halve()], holding=("even",))
    with pytest.raises(OrderError, match="`halve` needs even"):
        check_order([Halve()])
    with pytest.raises(OrderError, match="`add` must come before `halve`"):
        check_order([Halve(), Add()], holding=("even",))
    with pytest.raises(OrderError, match="`add` cannot run on what has halved already"):
        check_order([Add()], holding=("halved",))


@pytest.mark.parametrize(
    "text", ["", "add", "add,add{by=4}", 'add{by=-2, loud=true, word="a b"},halve', "halve"]
)
def test_texts_of_pipelines_come_back(text: str) -> None:
    assert show_pipeline(parse_pipeline(text, REGISTRY, holding=("even",))) == text


def test_spaces_and_a_last_comma_do_not_matter() -> None:
    assert parse_pipeline(" add { by = 3 } , ", REGISTRY) == (Add(by=3),)


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("add{by=}", "RT320", 8),
        ("add add", "RT320", 5),
        ("ad", "RT321", 1),
        ("add{bi=1}", "RT321", 5),
        ("add{by=x}", "RT322", 8),
        ("add{loud=1}", "RT322", 10),
        ("halve", "RT323", 1),
    ],
)
def test_wrong_texts_are_refused(text: str, code: str, column: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_pipeline(text, REGISTRY)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.primary is not None
    assert diagnostic.primary.span.column == column
