"""Graphs written by hand are refused with the line, not with a bug report."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.sdg.verification.check import read_graph

TEXT = "sdg a\nbound T\ndim t < T\n%x = input{dtype=f32} : [t] f32\n%y = neg %x : [t] f32\n"


def test_a_good_graph() -> None:
    assert list(read_graph(TEXT, "a.sdg").nodes) == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (TEXT.replace("neg %x", "neg %x[t-1]"), "RT302", 5),
        (TEXT.replace("neg %x : [t] f32", "neg %x : [t] i32"), "RT302", 5),
        (TEXT + "output y = %y[T]\n", "RT302", None),
        (TEXT.replace("neg", "nag"), "RT301", 5),
    ],
)
def test_a_bad_graph(text: str, code: str, line: int | None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_graph(text, "a.sdg")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert (diagnostic.primary.span.line if diagnostic.primary else None) == line
