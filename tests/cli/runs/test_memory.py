"""`explain --memory` and `--memory-budget`: formulas, numbers, limits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.caches import HEAD, caches_text
from tempoc.driver.search import budget as fitting
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.forecast.least_run import default_filled_stores
from tests.cli.session import Session
from tests.support.golden import Golden
from tests.support.session.long import chosen

ROWS = """dim t < T
input x[t]: f32[8]
k[0] = x[0]
k[t] = tanh(k[t-1] + x[t]) when t >= 1
y[t] = mean(k[0:t+1], axis = 0)
output y
"""


def test_the_report(tempoc: Session, golden: Golden) -> None:
    Path("rows.rt").write_text(ROWS, encoding="utf-8")
    Path("phases.rt").write_text(PHASES, encoding="utf-8")
    for line in (
        "explain fib.rt --memory",
        "explain fib.rt --memory --bounds N=1000",
        "explain rows.rt -O1 --memory --bounds T=1000",
        "explain rows.rt -O1 --memory --solve T --memory-budget 1MiB",
        "compile sums.rt -o out",
    ):
        assert tempoc(line) == 0
    for line in (
        "explain phases.rt -O1 --memory",
        "explain phases.rt -O1 --memory --bounds T=5,S=9,U=6",
        "explain phases.rt -O1 --memory --solve U --bounds T=9,S=9 --memory-budget 1MiB",
    ):
        assert tempoc(line) == 0
    assert tempoc("explain out --memory --bounds T=5") == 0
    assert tempoc("explain sums.rt --memory --bounds T=5") == 0
    assert tempoc("run out --input x=x.npy --params w.npz --memory") == 0
    golden("cli/memory.txt", tempoc.text)


def test_wrong_questions(tempoc: Session, golden: Golden) -> None:
    for line, code in (
        ("explain fib.rt --bounds N=3", 2),
        ("explain fib.rt --memory --solve N", 2),
        ("explain fib.rt --memory --memory-budget 3MB", 2),
        ("explain fib.rt --memory --solve N --memory-budget much", 2),
        ("explain fib.rt --memory --solve N --memory-budget 3MB --bounds N=4", 2),
        ("explain fib.rt --memory --solve T --memory-budget 3MB", 1),
        ("explain fib.rt --memory --bounds N=0", 1),
        ("explain fib.rt --memory --solve N --memory-budget 3", 1),
        ("explain sums.rt --memory --bounds N=3,T=4", 1),
    ):
        assert tempoc(line) == code, line
    golden("cli/memory_errors.txt", tempoc.text)


def test_budgets(tempoc: Session, golden: Golden) -> None:
    assert tempoc("compile fib.rt -o out --memory-budget 100B") == 0
    assert tempoc("run out --bounds N=25") == 0
    assert tempoc("run out --bounds N=26") == 1
    assert tempoc("run out --bounds N=26 --memory-budget 104B") == 0
    assert tempoc("run fib.rt --bounds N=26 --memory-budget 103B") == 1
    assert tempoc("compile fib.rt -o small --memory-budget 3B") == 1
    assert not Path("small").exists()
    golden("cli/budgets.txt", tempoc.text)


PHASES = """dim t < T
dim s < S
dim u < U
input x: f32
a[0] = x
a[t] = tanh(a[t-1]) when t >= 1
m = mean(a[0:T] * 2.0)
b[0] = m * ones([3])
b[s] = tanh(b[s-1]) when s >= 1
c[0] = mean(b[0:S]) * ones([5])
c[u] = tanh(c[u-1]) when u >= 1
r = mean(c[0:U])
output r
"""
LEARN = """dim i < I
dim t < T
input x[t]: f32[32]
input y[t]: f32
w[0] = {a: ones([64, 32]) * 0.01, b: ones([64]) * 0.01}
hidden[i, t] = tanh(w[i].a @ x[t])
out[i, t] = w[i].b @ hidden[i, t]
loss[i] = mean((out[i, 0:T] - y[0:T]) ** 2)
slope = grad(loss, w)
w[i+1] = {a: w.a - 0.1 * slope.a, b: w.b - 0.1 * slope.b}
output loss
"""


def test_budgets_that_want_tiles(tempoc: Session, golden: Golden) -> None:
    """All and a half of what it takes as it is, too little, and what is said to be enough."""
    Path("learn.rt").write_text(LEARN, encoding="utf-8")
    random = np.random.default_rng(0)
    np.savez(
        "d.npz", x=random.normal(size=(200, 32)).astype(np.float32),
        y=random.normal(size=200).astype(np.float32),
    )  # fmt: skip
    line = "learn.rt --memory --bounds I=3,T=200"
    assert tempoc(f"explain {line} --memory-budget 80KiB") == 0
    assert tempoc(f"explain {line} --memory-budget 30kB") == 1
    enough = int(re.findall(r"smallest budget that would do is (\d+) bytes", tempoc.err)[0])
    assert tempoc("compile learn.rt -o out --memory-budget 80KiB --bounds I=3,T=200") == 0
    assert tempoc("compile learn.rt -o out --memory-budget 80KiB --bounds I=3") == 1
    golden("cli/fitting.txt", tempoc.text)
    assert tempoc("run learn.rt --bounds I=3 --input d.npz --output whole.npz --memory") == 0
    whole, natural = np.load("whole.npz")["loss"], measured(tempoc.err)
    for budget in (natural, natural // 2, enough) if chosen["long"] else (enough,):
        line = "run learn.rt --bounds I=3 --input d.npz --output tiles.npz --memory"
        assert tempoc(f"{line} --memory-budget {budget}B") == 0
        assert measured(tempoc.err) <= budget
        assert ("tiles of" in tempoc.err) == (budget < natural)
        np.testing.assert_allclose(np.load("tiles.npz")["loss"], whole, rtol=1e-5)
    assert tempoc("run out --bounds I=3 --input d.npz --output tiles.npz --verify") == 0


IMAGES = """dim k < K
input x[k]: f32[8, 64]
w[0] = ones([64, 4]) * 0.01
loss[k] = mean(tanh(x[k] @ w[k]) ** 2)
w[k+1] = w - 0.1 * grad(loss[k], w)
output loss
"""


def test_budgets_that_want_the_host(tempoc: Session, golden: Golden) -> None:
    """An input that takes sixteen times the budget, of which each step reads a part."""
    Path("images.rt").write_text(IMAGES, encoding="utf-8")
    x = np.random.default_rng(0).normal(size=(100, 8, 64)).astype(np.float32)
    np.save("x.npy", x)
    assert tempoc("explain images.rt --memory --bounds K=100 --memory-budget 12KiB") == 0
    assert tempoc("explain images.rt --memory --bounds K=100 --memory-budget 2KiB") == 1
    assert tempoc("compile images.rt -o away --bounds K=100 --memory-budget 12KiB") == 0
    assert tempoc("run away --input x=x.npy --output away.npz --memory") == 0
    assert tempoc("run away --input x=x.npy --output away.npz --memory-budget 2KiB") == 1
    golden("cli/away.txt", tempoc.text)
    assert tempoc("run images.rt --input x=x.npy --output whole.npz") == 0
    np.testing.assert_allclose(np.load("away.npz")["loss"], np.load("whole.npz")["loss"], rtol=1e-5)
    assert tempoc("run away --input x=x.npy --output away.npz --verify") == 0


def measured(text: str) -> int:
    """The most bytes that there were."""
    return int(re.findall(r"^peak +\d+ +(\d+)$", text, re.MULTILINE)[0])


PATTERNS = [
    ("k[0:t+1]", "causal"),
    ("k[0:t]", "causal"),
    ("k[max(0, t-3):t+1]", "window of min(4, T)"),
    ("k[t//4*4:t+1]", "chunk of min(4, T)"),
    ("k[0:min(2, t+1)]", "first 2"),
    ("k[t:T]", "from here on"),
    ("k[0:T]", "whole"),
    ("k[t:min(t+3, T)]", "window of 3"),
]


@pytest.mark.parametrize(("read", "pattern"), PATTERNS)
def test_patterns_of_reads(read: str, pattern: str) -> None:
    (row,) = cache_rows(read)
    assert row[:3] == ("k", "t", pattern)


def test_sinks_stand_before_windows() -> None:
    text = "concat([k[0:min(2, T)], k[max(0, t-3):t+1]])"
    (row,) = cache_rows(text)
    assert row[:3] == ("k", "t", "first min(2, T) plus window of min(4, T)")


def cache_rows(read: str) -> list[tuple[str, ...]]:
    """The table for a tensor with one reader."""
    text = f"dim t < T\ninput x[t]: f32\nk[t] = exp(x)\ny[t] = sum({read})\noutput y\n"
    found = caches_text(Compilation(load_source(Source("m.rt", text)), Options(level=1)))
    head, *lines = found.splitlines()
    starts = [head.index(word) for word in HEAD]
    starts[1] = head.index("  of") + 2
    return [
        tuple(line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True))
        for line in lines
    ]


@pytest.mark.long("tiles run above with the budget that is named")
@pytest.mark.parametrize("parts", [3, 5])
def test_the_budget_that_is_named_is_enough(parts: int) -> None:
    compilation = Compilation(load_source(Source("m.rt", LEARN)), Options())
    bounds = {"I": 2, "T": 100}
    natural = fitting.fit_budget(compilation, bounds, default_filled_stores, 10**9).chosen.peak
    budget = natural // parts
    try:
        assert (
            fitting.fit_budget(compilation, bounds, default_filled_stores, budget).chosen.peak
            <= budget
        )
    except RunError as error:
        texts = [note for problem in error.diagnostics for note in problem.notes]
        (enough,) = re.findall(r"would do is (\d+) bytes", " ".join(texts))
        assert budget < int(enough) < natural
        assert fitting.fit_budget(
            compilation, bounds, default_filled_stores, int(enough)
        ).chosen.peak == int(enough)
