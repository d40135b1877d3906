"""Mistakes: each program of `errors/` and what is said about it, source and rendering together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tempoc.base.resources import stdlib_folder, stdlib_names
from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.render import render_all
from tempoc.driver.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import PRELUDE, load_file
from tests.support.elaborated import errors_of
from tests.support.golden import Golden

T = "dim t < T\ninput x[t]: f32\n"
PROGRAMS = sorted((Path(__file__).parent / "errors").glob("*.rt"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_golden(path: Path, golden: Golden) -> None:
    """Files hold several programs, a line of dashes between two."""
    parts = []
    for text in path.read_text(encoding="utf-8").split("---\n"):
        found = errors_of(text)
        assert found, f"accepted:\n{text}"
        shown = "".join(f"    {line}" if line.strip() else line for line in text.splitlines(True))
        parts.append(f"{shown}\n{render_all(found)}")
    golden(f"errors/{path.stem}.txt", ("-" * 80 + "\n").join(parts))


def test_codes_are_stable() -> None:
    """A code means one thing, and codes of the front end are in their ranges."""
    codes: dict[str, None] = {}
    for path in PROGRAMS:
        for text in path.read_text(encoding="utf-8").split("---\n"):
            codes.update(dict.fromkeys(d.code for d in errors_of(text)))
    assert all("RT020" <= code <= "RT299" for code in codes)
    assert len(codes) > 60


def only(text: str) -> Diagnostic:
    found = errors_of(text)
    assert len(found) == 1, render_all(found)
    return found[0]


def test_a_mistake_does_not_cascade() -> None:
    text = T + "a = frob + 1\nb = a * 2\nc[t] = b[t] + c[t-1]\noutput a, b, c\n"
    assert "frob" in only(text).message


def test_who_reads_a_tensor_that_is_nowhere_defined_says_nothing_new() -> None:
    text = "dim t < T\ny[t] = 1.0 when t >= T\nz = y + 1\nprint y[0]\noutput y, z"
    assert only(text).code == "RT139"


def test_independent_mistakes_are_all_reported() -> None:
    text = T + "y = frob + x[t-1] + sum(x, 1) + 1 / 0\nz = x[t * t]\n"
    assert [d.code for d in errors_of(text)] == ["RT020", "RT060", "RT064", "RT122"]
    reads = T + "y = x[t-1]\nz = x[t+1]\noutput y, z\n"
    assert [d.code for d in errors_of(reads)] == ["RT200", "RT200"]


def test_the_witness_is_the_one_of_the_specification() -> None:
    found = only("dim t < T\nx[t] = 0.5 * x[t-1] + 1.\noutput x\n")
    assert found.message == "x[t-1] reads x at t = -1 when t = 0"
    assert found.help == 'add an equation for x[0], or restrict this one with "when t >= 1"'


@pytest.mark.parametrize(
    ("read", "help"),
    [
        ("x[-T]", "temporal indices never wrap around: write x[0]"),
        ("x[T+S]", "indices count from 0: the last one is x[T-1]"),
        ("x[-S:T]", "cut the slice: `0` keeps this end inside"),
        ("x[S]", 'say what the bounds are known to satisfy: "assume S < T"'),
    ],
)
def test_nothing_is_assumed_that_no_bounds_satisfy(read: str, help: str) -> None:
    assert only(f"dim s < S\n{T}y = {read}\noutput y\n").help == help


def test_a_mistake_in_a_function_is_told_once_with_its_calls() -> None:
    text = T + "def f(a) = a @ a\ndef g(a) = f(a)\ny = g(x) + g(x)\noutput y\n"
    found = only(text)
    assert found.primary is not None and found.primary.span.text == "a @ a"
    assert [label.span.text for label in found.secondary] == ["f(a)", "g(x)"]


@pytest.mark.parametrize(
    ("defines", "message"),
    [
        ({"dd": "3"}, "-D dd: no such constant or fixed bound"),
        ({"T": "3"}, "-D T: this bound has no compile-time value"),
        ({"N": "3"}, "-D N: this bound is derived from others"),
        ({"D": "x"}, "`D` is a number, not x"),
        ({"D": "1_0"}, "`D` is a number, not 1_0"),
        ({"L": "0"}, "the bound `L` is 0; a bound is at least 1"),
        ({"L": "x"}, "`L` is a number, not x"),
        ({"L": "2.5"}, "`L` is an integer of at least 1, not 2.5"),
        ({"on": "1"}, "`on` is a bool (`true` or `false`), not 1"),
    ],
)
def test_defines(defines: dict[str, str], message: str) -> None:
    dims = "dim t < T\ndim n < N = T + 1\ndim l < L = 2\n"
    body = "const D = 1\nconst on = true\ny[t] = D\nw[l] = l\nv = w[1]\noutput y, v\n"
    text = dims + body
    found = errors_of(text, defines)
    assert [d.message for d in found] == [message]


@pytest.mark.parametrize("text", ["3.5", "-1", "2147483648", "99999999999999999999", "inf"])
def test_an_extent_that_is_none_is_told_once(text: str) -> None:
    body = "const D = 3\ndim t < T\ninput x[t]: f32[D]\nparam W: f32[D, D]\ny = W @ x\noutput y\n"
    (problem,) = errors_of(body, {"D": text})
    assert problem.code == "RT032"
    assert problem.message == f"`D` is an extent, an integer from 0 to 2**31 - 1, not {text}"
    assert not errors_of(body, {"D": "2"})


@pytest.mark.parametrize("text", ["3.5", "2147483648", "inf"])
def test_a_part_of_extents_that_is_none_is_told_once(text: str) -> None:
    """Of a product that is an extent, and of a constant that is one."""
    body = (
        "const D = 3\nconst N = 2 * D\nconst K = -(1 - N)\nconst P = D // 2\ndim t < T\n"
        "input x[t]: {a: f32[2 * D]}\nparam W: f32[K, N]\ny = W @ x.a + zeros([K])\noutput y\n"
    )
    (problem,) = errors_of(body, {"D": text})
    assert problem.code == "RT032"
    assert problem.message == f"`D` is part of an extent, an integer below 2**31, not {text}"
    assert not errors_of(body, {"D": "2"})


def test_a_part_of_a_quotient_may_be_large() -> None:
    body = (
        "const BYTES = 4096\nconst N = BYTES // 1073741824\ndim t < T\ninput x[t]: f32[N]\n"
        "output x\n"
    )
    assert not errors_of(body, {"BYTES": "4294967296"})


def test_a_point_that_is_nowhere_defined_is_told_once() -> None:
    body = "dim t < T\ninput x[t]: f32\nh[t+1] = x + h\ny = h * 2.0\noutput y, x\n"
    (problem,) = errors_of(body)
    assert problem.code == "RT200" and problem.primary and problem.primary.span.line == 3
    assert problem.notes[-1] == "another read of h at this point is on line 4"
    (problem,) = errors_of(body.replace("* 2.0", "* h") + "z[t] = h[t] - x\n")
    assert problem.notes[-1] == "3 other reads of h at this point begin on line 4"


def test_nothing_in_the_standard_library_is_unknown(tmp_path: Path) -> None:
    """As files of a user: in standard modules themselves nothing that is unknown is looked for."""
    names = [n for n in stdlib_names() if n != PRELUDE]
    for name in names:
        text = (stdlib_folder() / f"{name}.rt").read_text(encoding="utf-8")
        (tmp_path / f"{name}.rt").write_text(text, encoding="utf-8")
    imports = ", ".join(f'"{name}.rt" as {name}' for name in names)
    main = tmp_path / "main.rt"
    main.write_text(f"import {imports}\ndim t < T\ny = t\noutput y\n", encoding="utf-8")
    assert elaborate(load_file(str(main)), {}).nodes


def test_functions_of_imported_files_are_looked_at_once(tmp_path: Path) -> None:
    """Called or not; a name is reported once, with the call if there is one."""
    (tmp_path / "parts.rt").write_text(
        "dim n < N\ndef called(x) = x * amont\ndef spare(x) = x * amount + n\n", encoding="utf-8"
    )
    main = tmp_path / "m.rt"
    main.write_text(
        'import "parts.rt" as parts\ndim t < T\ny = parts.called(1.0 * t)\noutput y\n',
        encoding="utf-8",
    )
    with pytest.raises(DiagnosticError) as caught:
        elaborate(load_file(str(main)), {})
    found = [(d.code, d.message, len(d.secondary)) for d in caught.value.diagnostics]
    assert found == [
        ("RT020", "unknown name `amont`", 1),
        ("RT020", "unknown name `amount`", 0),
    ]
