from __future__ import annotations

from tempoc.program.text import program_text
from tests.runtime.programs import FIBONACCI, SUMS


def test_loops_read_like_loops():
    assert program_text(FIBONACCI) == (
        "program fibonacci\n"
        "  bound T\n"
        "  dim t < T\n"
        "  store f: f32 by t % 2\n"
        "  kernel one\n"
        "  kernel add\n"
        "  for t in range(min(2, T)):\n"
        "    f[t] = one@(t)()\n"
        "  for t in range(2, T):\n"
        "    f[t] = add@(t)(f[t - 2], f[t - 1])\n"
        "  output last = f[T - 1]\n"
    )


def test_declarations():
    text = program_text(SUMS)
    assert "  bound N = 2 * T\n" in text
    assert "  input x[b, t]: i32\n" in text
    assert "  store y: i32 by b axes t: T\n" in text
    assert "  kernel sums(T) donates 0\n" in text
    assert "      if b <= B:\n        y[b] = sums@(b, t)(y[b], x[b])\n" in text
    assert "  output y = y[0:B, 0:T:2]\n" in text
