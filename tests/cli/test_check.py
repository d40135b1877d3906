"""`check` and `compile` agree about which programs have an order of execution, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.session import Session

HEAD = "dim i < I\ndim t < T\ninput x[t]: f32\ninput y[i, t]: f32\n"
HOST = 'extern host step(s: f32) -> (s2: f32) from "env:step"\n'
REFUSED = {
    "a point": "a[t] = b[t] + x\nb[t] = a[t] * 2.0\noutput a",
    "opposite ways": "a[T-1] = 0.\na[t] = b[t+1]\nb[0] = 0.\nb[t] = a[t-1]\noutput a",
    "the whole": "a[0] = x[0]\na[t] = a[t-1] - mean(b[0:T])\nb[t] = a[t]\noutput a",
    "two cycles": "a[t] = b[t] + x\nb[t] = a[t]\nc[t] = d[t] + x\nd[t] = c[t]\noutput a, c",
    "through a slice": "a[t] = x + sum(b[0:t+1])\nb[t] = tanh(a[t])\noutput b",
    "copies": "a[t] = x when t % 2 == 0\na[t] = b\nb[t] = c\nc[t] = a\noutput a",
    "times nothing": "a[t] = b\nb[t] = i32(a[t]) * 0\noutput a",
    "what is the same": "a[t] = where(b[t] > 0, c, c)\nb[t] = i32(a) * 0\nc[t] = f32(b)\noutput c",
    "calls": HOST + "v = step(y + s)\ns[i, 0] = 0.\ns[i, t] = v[I-1, t-1]\noutput v",
    "a call too early": HOST + "v[0] = 0.\nv[t+1] = step(v)\nall = step(v[T-1])\noutput all",
}
ACCEPTED = {
    "earlier": "a[0] = 0.\na[t] = b[t-1] + x\nb[t] = a[t] * 2.0\noutput a",
    "later": "a[T-1] = 0.\na[t] = b[t+1] + x\nb[t] = a[t] * 2.0\noutput a",
    "edit distance": "d[0, t] = 0.\nd[i, 0] = 0.\nd[i, t] = d[i-1, t] + d[i, t-1]\noutput d",
    "even and odd": "a[t] = x when t % 2 == 0\na[t] = a[2 * (t // 2)] + 1.\noutput a",
    "in opposite halves": "a[t] = a[t+1] when t < T // 2 and t + 1 < T\na[t] = x\noutput a",
    "skewed": "d[0, t] = 0.\nd[i, t] = d[i-1, min(t+1, T-1)]\noutput d",
    "turned": "a[t] = x when 2 * t + 1 >= T\na[t] = a[T-1-t]\noutput a",
    "calls": HOST + "s[0] = 0.\ns[t+1] = step(s[t])\noutput s",
    "no use": "a[t] = 0.0 * x[t] + (b[t] if false else 1.)\nb[t] = a[t]\noutput a",
}


def answers(tempoc: Session, text: str) -> tuple[int, str, int, str]:
    Path("m.rt").write_text(HEAD + text + "\n", encoding="utf-8")
    checked, said = tempoc("check m.rt"), tempoc.err
    return checked, said, tempoc("compile m.rt -o out"), tempoc.err


@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_order_is_refused(tempoc: Session, what: str) -> None:
    checked, said, compiled, told = answers(tempoc, REFUSED[what])
    assert (checked, compiled) == (1, 1)
    assert said == told and "error[RT40" in said


@pytest.mark.parametrize("what", ACCEPTED)
def test_what_has_an_order_is_accepted(tempoc: Session, what: str) -> None:
    checked, said, compiled, told = answers(tempoc, ACCEPTED[what])
    assert (checked, compiled) == (0, 0), said + told


def test_check_of_a_directory_looks_at_every_file(tempoc: Session) -> None:
    Path("m.rt").write_text("dim t < T\ninput x[t]: f32\ny[t] = 2 * x[t]\noutput y\n")
    assert tempoc("compile m.rt -o out") == 0
    assert tempoc("check out") == 0 and "are as they were written\n" in tempoc.err
    Path("out/notes.txt").write_text("mine")
    assert tempoc("check out") == 0 and "not from the compilation: notes.txt" in tempoc.err
    with Path("out/model.rt").open("a") as file:
        file.write("# mine\n")
    Path("out/runtime/run.py").unlink()
    assert tempoc("check out") == 1
    assert tempoc.err.count("error[RT503]") == tempoc.err.count("error[RT508]") == 1
    Path("out/program.json").write_text("{}")
    assert tempoc("check out") == 1 and "error[RT502]" in tempoc.err
