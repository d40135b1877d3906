"""Which variants are looked for along a range of bounds, without looking for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.search import variants
from tempoc.driver.search.candidates import differences
from tempoc.driver.search.variants import BoundReach, open_variant_family, variant_family
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.messages.memory import over_budget

HEAD = "dim t < T\ndim b < B\nassume T % 2 == 0 or T < 2\n"
PLAIN = HEAD + "x[t, b] = f32(t + b)\ny = sum(x[0:T, 0:B])\noutput x, y\n"
"""Takes 4*T*B + 4 bytes."""
HALF = HEAD + "x[t, b] = bf16(f32(t + b))\noutput x\n"
"""Takes 2*T*B bytes."""


EXACT = Options(level=0, recompute="cheap", memory_budget=404)
"""With a budget no size is rounded."""


def compiled(text: str) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), EXACT)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, int]]:
    """For which bounds a variant was looked for; it takes half of the bytes."""
    found: list[Mapping[str, int]] = []
    half = compiled(HALF)

    def fit(
        compilation: Compilation, bounds: Mapping[str, int], given: object, budget: int, exact: bool
    ):
        found.append(bounds)
        if 2 * bounds["T"] * bounds["B"] > budget:
            raise RunError(over_budget(0, budget, dict(bounds)))
        return SimpleNamespace(chosen=SimpleNamespace(compilation=half, about=lambda: "half"))

    monkeypatch.setattr(variants, "fit_budget", fit)
    return found


def test_one_bound(asked: list[Mapping[str, int]]) -> None:
    reach = BoundReach(least={"B": 1, "T": 1}, most={"B": 1, "T": 200})
    found = variant_family(compiled(PLAIN), reach, default_filled_stores, 404)
    assert asked == [{"B": 1, "T": 200}]
    assert [(v.name, v.about, v.upto) for v in found.members] == [
        ("", "as it is", (("B", 1), ("T", 100))),
        ("variants/recompute-cheap", "half", (("B", 1), ("T", 200))),
    ]
    assert found.note().splitlines()[1:] == [
        "  up to B = 1, T = 100: as it is",
        "  up to B = 1, T = 200: half",
    ]


def test_bounds_that_rise_together(asked: list[Mapping[str, int]]) -> None:
    reach = BoundReach(least={"B": 1, "T": 1}, most={"B": 8, "T": 64})
    assert [reach.at(t) for t in (1, 16, 64)] == [
        {"B": 1, "T": 1}, {"B": 4, "T": 16}, {"B": 8, "T": 64}
    ]  # fmt: skip
    found = variant_family(compiled(PLAIN), reach, default_filled_stores, 1100)
    # 4*T*B + 4 <= 1100 up to T = 42 and B = round(42**0.5).
    assert [v.upto for v in found.members] == [(("B", 6), ("T", 42)), (("B", 8), ("T", 64))]
    assert asked == [{"B": 8, "T": 64}]


def test_what_fits_everywhere_is_alone(asked: list[Mapping[str, int]]) -> None:
    reach = BoundReach(least={"B": 1, "T": 1}, most={"B": 1, "T": 100})
    found = variant_family(compiled(PLAIN), reach, default_filled_stores, 404)
    assert len(found.members) == 1 and found.note() == "" and not asked


def test_the_end_of_a_range_must_fit(asked: list[Mapping[str, int]]) -> None:
    reach = BoundReach(least={"B": 1, "T": 1}, most={"B": 1, "T": 4000})
    with pytest.raises(RunError) as error:
        variant_family(compiled(PLAIN), reach, default_filled_stores, 404)
    assert asked[-1] == {"B": 1, "T": 4000}
    assert "T that fits, all else as it is: 4000" in error.value.diagnostics[0].notes[-1]


def test_the_beginning_need_not_fit_as_it_is(asked: list[Mapping[str, int]]) -> None:
    reach = BoundReach(least={"B": 1, "T": 150}, most={"B": 1, "T": 200})
    found = variant_family(compiled(PLAIN), reach, default_filled_stores, 404)
    assert [v.upto for v in found.members] == [(), (("B", 1), ("T", 200))]
    assert "with a larger budget: as it is" in found.note()


@pytest.mark.parametrize("ends", [(1, 7), (3, 8)])
def test_ends_keep_to_assumptions(asked: list[Mapping[str, int]], ends: tuple[int, int]) -> None:
    reach = BoundReach(least={"B": 1, "T": ends[0]}, most={"B": 1, "T": ends[1]})
    with pytest.raises(RunError) as error:
        variant_family(compiled(PLAIN), reach, default_filled_stores, 10)
    assert error.value.diagnostics[0].code == "RT516"


def test_no_bounds(asked: list[Mapping[str, int]]) -> None:
    """All rise together; further than as it is there are values that break no assumption."""
    found = open_variant_family(compiled(PLAIN), default_filled_stores, 4 * 81 + 4)
    # Half of it fits up to 12: at 36 nothing was found.
    assert asked == [{"T": 36, "B": 36}]
    assert [v.upto for v in found.members] == [(("T", 9), ("B", 9))]
    wide = Compilation(load_source(Source("m.rt", PLAIN)), Options())
    found = open_variant_family(wide, default_filled_stores, 2**70)
    assert len(found.members) == 1 and len(asked) == 1


@pytest.mark.parametrize(
    ("options", "name", "about"),
    [
        (Options(), "", ""),
        (
            Options(recompute="cheap", limit=2**20),
            "recompute-cheap-tiles-1MiB",
            "cheap values rematerialized, tiles of what takes more than 1.00 MiB",
        ),
        (
            Options(away=dict.fromkeys("abcdef", 0), apart=True, level=1),
            "offload-loops-by-host",
            "`a`, `b`, `c`, `d` and 2 more with the host between uses, "
            "loops run by the host point by point",
        ),
        (
            Options(away={"a": 0}, hosted=("a",), apart=True),
            "offload-outer-loops-by-host",
            "`a` with the host between uses, loops that move it run by the host",
        ),
        (
            Options(apart=True),
            "points-apart",
            "one array per point of inputs and outputs, room for no more",
        ),
        (Options(walk=True), "large-points-in-turn", "large points one after the other"),
        (
            Options(recompute="all", regions=False, apart=True, walk=True),
            "recompute-all-large-points-in-turn-loops-by-host",
            "values rematerialized, loops run by the host, large points one after the other",
        ),
    ],
)
def test_how_variants_differ(options: Options, name: str, about: str) -> None:
    found = [*differences(options)]
    assert "-".join(d.name for d in found) == name
    assert ", ".join(d.about for d in found) == about
