"""Lengths that the run decides: each question is about those that matter for it."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.poly.relations import run_lengths
from tempoc.poly.relations.run_lengths import EndDependence, concerned, end_dependences, open_run
from tempoc.poly.relations.sets import Coordinates, IslFrame
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe


def universe(*assumptions: ix.Expr, derived: ix.Expr | None = None) -> Universe:
    """Dimensions ``t``, ``s`` and ``r`` that data end, and ``m``, of a derived bound if given."""
    ended = tuple(Bound(name=n, until=f"stop{n}") for n in "TSR")
    bounds = (*ended, Bound(name="M", value=derived))
    dims = tuple(Dim(name=n.lower(), bound=n) for n in "TSRM")
    return Universe(bounds=bounds, dims=dims, assumptions=assumptions)


T, S, M = ix.Sym("T"), ix.Sym("S"), ix.Sym("M")
UNIVERSES = {
    "nothing in common": (universe(), "T"),
    "an assumption": (universe(ix.compare("<=", T, S + 2)), "TS"),
    "a derived bound": (universe(derived=T + S - 3), "TS"),
    "an assumption on one": (universe(ix.compare("<=", T, M)), "T"),
}


@pytest.mark.parametrize("name", UNIVERSES)
def test_lengths_matter_where_they_are_named_or_there_are_facts_about_both(name: str) -> None:
    world, wanted = UNIVERSES[name]
    assert "".join(b.name for b in concerned(world, [Domain(("t",))])) == wanted
    assert "".join(b.name for b in concerned(world, [], [ix.Sym("R")])) == "R"
    assert "".join(b.name for b in concerned(world, [Domain(("t",))], [ix.Sym("r"), S])) == "TS"


@pytest.mark.parametrize("name", UNIVERSES)
def test_the_other_lengths_change_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = UNIVERSES[name]
    beside = Domain(("t",), ix.compare("<", ix.Sym("t"), S))
    domains = [Domain(("t",)), Domain(("t", "s")), Domain(("m",)), beside]

    def answers() -> list[isl.Set | isl.Map]:
        space = Space(world)
        run = open_run(space)
        told: list[isl.Set | isl.Map] = [run.set(d) for d in domains]
        for sink, source in product(domains, domains):
            entries = (ix.Sym(sink.dims[0]) - 1,) * len(source.dims)
            told.append(run.access_map(sink, entries, source))
            written = tuple(map(ix.Sym, source.dims))
            told.append(run.through((sink, entries), (source, written), source))
        for domain in domains:
            task = EndDependence(bound="T", domain=domain, mentions=(T - 1,))
            if "t" in domain.dims:
                told.append(end_dependences(space, task, Domain(("t",))))
        assert not all(t.is_empty() for t in told)
        return [type(t)(str(t.intersect_params(run.context))) for t in told]

    few = answers()
    monkeypatch.setattr(run_lengths, "concerned", lambda *_: world.ended)
    assert all(a.is_equal(b) for a, b in zip(few, answers(), strict=True))


def test_questions_of_many_lengths_are_about_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinate for each of all lengths made each question as long as the program."""
    make, most = IslFrame.coordinates, 0

    def coordinates(self: IslFrame, dims: tuple[str, ...], name: str = "") -> Coordinates:
        nonlocal most
        most = max(most, len({d for d in dims if d.endswith("'")}))
        return make(self, dims, name)

    monkeypatch.setattr(IslFrame, "coordinates", coordinates)
    parts = (
        f"dim t{k} < T{k} until stop{k}\na{k}[0] = {k + 5}\na{k}[t{k}+1] = a{k} // 2\n"
        f"stop{k} = a{k} <= 1\noutput a{k}[T{k}-1] as r{k}\n"
        for k in range(3)
    )
    assert Compilation(load_source(Source("m.rt", "".join(parts))), Options()).tree
    assert most == 1
