"""All independent mistakes of a program are reported in one go, and none that follows from them."""

from __future__ import annotations

import pytest

from tests.support.elaborated import errors_of

HEAD = "dim t < T\ndim s < S\nconst D = 3\ninput x[t, s]: f32\nparam W: f32[D, D]\n"
CASES = {
    "free dimensions": (
        "r[0, 0] = x\nr[t, 0] = x + r[t-1, 0]\nr[0, s] = x + r[0, s-1]\n"
        "r[t, s] = x + r[t-1, s-1]\noutput r",
        "RT137 1, RT137 2, RT137 3",
    ),
    "a free dimension beside an unknown name": ("r[t] = x + foo\noutput r", "RT137 1, RT020 1"),
    "a free dimension beside a broken tensor": (
        "r[0] = nope\nr[t] = x * tanh(r[t-1])\noutput r", "RT020 1, RT137 2"
    ),
    "a shape that only a number is left for": (
        "h[0] = 0.0\nh[t] = W @ foo[t-1]\ng = 2. * h\ny = W @ g\noutput y", "RT020 2"
    ),
    "a guess of which an error leaves nothing": (
        "a[0] = 3.0\nb[t] = sum(x[t, 0:S]) + a\nv, w = top_k(b[0:T], 16)\n"
        "p[t] = take(x[t, 0:S], w, 0) / 2.0\nm[t] = mean(p, axis = 0)\n"
        "a[t+1] = a + m[t][0]\noutput a",
        "RT060 3",
    ),
    "a shape that only a number is left for, in a cycle": (
        "h[0] = foo\nh[t] = 0.1 * h[t-1] + m[t-1]\nm[0] = 0.0\nm[t] = 0.5 * m[t-1] + h[t-1]\n"
        "y = W @ h[t][0]\noutput y",
        "RT020 1",
    ),
    "a declaration that does not parse": (
        "param q: [f32[D, D]]\nh[0] = q\nh[t] = 0.1 * h[t-1] + m[t-1]\nm[0] = 0.0\n"
        "m[t] = 0.5 * m[t-1] + h[t-1]\ny = W @ h[t][0]\noutput y",
        "RT001 1",
    ),
    "a tensor with the name of a function": (
        "def f(x) = x\nf[t] = 3. * t\ng[t] = f[t] + foo\noutput f", "RT023 2, RT020 3"
    ),
    "a tensor with the name of a module": (
        "import nn\nnn = 3\ng[t] = 2. * nn\noutput nn", "RT023 2"
    ),
    "a number that does not fit": (
        'h[0] = 0.0\nh[t] = einsum("ij,jk->ik", W, h[t-1])\nk[t] = foo\noutput h',
        "RT060 2, RT020 3",
    ),
    "a shape that is right though the dimensions are not": (
        "g[0] = 0.0\ng[t] = ones([D]) * x\nz = W @ g\nw = g + ones([2])\noutput z, w",
        "RT137 2, RT060 4",
    ),
    "dimensions though only a number is left": (
        "w[0] = 1.0\nq = w * x\ne[t, s] = q[t] when t < T - 1\ne[t, s] = 0.0\n"
        "c = sum((0.5 * e ** 2)[s = 0:S])\nw[t+1] = w - c\noutput c",
        "RT121 3",
    ),
    "a type that is written down": (
        "k[t]: f32[D] = x[t, 0]\nv = W @ k\nw = k + ones([2])\noutput v, w", "RT079 1, RT060 3"
    ),
    "targets": (
        "a[t*t] = 0.\na[t//2] = 0.\na[t, s] = 0.\nb = a + 1.\noutput a", "RT122 1, RT130 2"
    ),
    "targets that disagree": (
        "a[t] = 0.\na[t, s] = 0.\na[s] = 0.\na[0, 0] = 0.\noutput a",
        "RT131 2, RT132 3, RT131 4",
    ),
    "targets by name": (
        "a[t = t, s = s] = 0.\na[t = 0] = 0.\na[s = s] = 0.\noutput a", "RT131 2, RT131 3"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CASES)
def test_all_mistakes_and_no_consequences(what: str) -> None:
    text, wanted = CASES[what]
    first = HEAD.count("\n")
    shown = [(d.code, d.primary.span.line - first) for d in errors_of(HEAD + text + "\n")]
    assert ", ".join(f"{code} {line}" for code, line in shown) == wanted
