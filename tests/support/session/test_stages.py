"""What compilations share, and what they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver import compilation as driver
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.session.long import chosen

TEXT = (
    "dim b < B\ndim t < T\ninput x[b, t]: f32[4]\ny = {} * x\nz = sum(y[0:B, 0:t+1])\noutput y, z\n"
)


def compiled(number: float, path: str = "m.rt", **options: object) -> Compilation:
    source = Source(path, TEXT.format(number))
    return Compilation(load_source(source), Options(**options))  # type: ignore[arg-type]


def test_equal_compilations_share_their_stages() -> None:
    first, second = compiled(2.25), compiled(2.25)
    assert first.emitted is second.emitted and first.ordered is second.ordered
    assert first.remarks == second.remarks
    third = compiled(2.25)
    assert third.proof is first.proof and third.emitted is first.emitted
    assert third.remarks == first.remarks


def test_other_texts_and_options_have_their_own() -> None:
    first, plain, other = compiled(2.5), compiled(2.5, level=0), compiled(2.75)
    assert first.graph is plain.graph and first.graph is not other.graph
    assert first.passes is not plain.passes and first.emitted is not other.emitted
    there = compiled(2.5, "n.rt")
    assert there.graph is not first.graph
    assert compiled(2.5, "n.rt", verify_each=True).graph is not there.graph


def test_programs_of_tests_are_verified_for_all_who_ask_or_for_none() -> None:
    pairs = [(compiled(x), compiled(x, verify_each=True)) for x in range(20)]
    assert all(a.options == b.options for a, b in pairs)
    share = sum(a.options.verify_each for a, _ in pairs)
    assert share == 20 if chosen["long"] else 1 < share < 12
    assert pairs[0][0].emitted is pairs[0][1].emitted


def test_equal_texts_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled(4.5).loaded.main.tree
    assert compiled(4.5, level=0).loaded.main.tree is first
    assert compiled(4.75).loaded.main.tree is not first
    monkeypatch.setattr(driver, "assemble", driver.assemble)
    assert compiled(4.5).loaded.main.tree is not first


def test_programs_in_files_share_them_unless_they_name_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "n.rt"
    for text, is_shared in (
        (TEXT.format(6.5), True),
        (f'extern host f(x: f32) -> (y: f32) from "m:f"\n{TEXT.format(6.5)}', False),
    ):
        file.write_text(text, encoding="utf-8")
        first, second = (Compilation.from_path(str(file), Options()) for _ in range(2))
        assert (first.plan is second.plan) is is_shared
        assert [name for name, _ in first.timings] == [name for name, _ in second.timings]


def test_variants_share_them_if_they_begin_alike() -> None:
    def variant(level: int, number: float = 5.25) -> Compilation:
        base = compiled(number, verify_each=True)
        return base.variant(replace(base.options, level=level))

    first, second, plain = variant(2), variant(2), variant(1)
    assert first.emitted is second.emitted and first.remarks == second.remarks
    assert plain.prepared is first.prepared and plain.emitted is not first.emitted
    other = variant(2)
    other.__dict__["prepared"] = variant(2, 5.75).graph
    assert other.emitted is not first.emitted and variant(2).emitted is first.emitted


def test_what_a_test_puts_in_reaches_no_other() -> None:
    right = compiled(3.25).plan
    wrong = compiled(3.25)
    wrong.__dict__["ordered"] = compiled(3.25, level=0).ordered
    assert wrong.plan is not right and wrong.emitted is not compiled(3.25).emitted
    assert compiled(3.25).plan is right


def test_what_a_test_replaces_reaches_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    emitted = compiled(3.5).emitted
    with monkeypatch.context() as patch:
        patch.setattr(driver, "assemble", lambda *_, **__: emitted)
        assert compiled(3.75).emitted.kernels == emitted.kernels
        assert compiled(3.5).emitted is not emitted
    assert compiled(3.75).emitted.kernels != emitted.kernels
    assert compiled(3.5).emitted is emitted
