"""Names of calls that stay when other items change."""

import re

import pytest

from tempoc.diagnostics.source import Source
from tempoc.frontend.syntax import stable_places
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.frontend.syntax.stable_places import SourcePlaces

CALLS = 40
TEXT = "dim t < T\ninput x[t]: f32\n" + "".join(f"y{k}[t] = exp(x[t])\n" for k in range(CALLS))
TEXT += "y0[0] = exp(exp(x[0]))\n# nothing\n"


def test_calls_are_named_by_their_item(monkeypatch: pytest.MonkeyPatch) -> None:
    source, labels = Source("m.rt", TEXT), []
    function = stable_places._label
    monkeypatch.setattr(
        stable_places, "_label", lambda item: (labels.append(item), function(item))[1]
    )
    places = SourcePlaces(load_source(source))
    calls = [match.span(1) for match in re.finditer(r"= (exp\(.*\))\n", TEXT)]
    calls.append((inner := TEXT.index("exp(x[0])"), inner + len("exp(x[0])")))
    names = [places.name(source.span(*call)) for call in calls]
    last = ["|Equation y0 2|0", "|Equation y0 2|1"]
    assert names == [*(f"|Equation y{k} 1|0" for k in range(CALLS)), *last]
    assert len(labels) == CALLS + 3  # each item once


def test_other_places_have_no_name() -> None:
    source = Source("m.rt", TEXT)
    places = SourcePlaces(load_source(source))
    for at in (0, TEXT.index("x[t])"), len(TEXT) - 2):
        with pytest.raises(KeyError):
            places.name(source.span(at, at + 1))
