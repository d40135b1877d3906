"""Schedules of small programs: the loops a person would write, legal, the same for all sizes."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver import compilation
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.poly.relations.space import Space
from tempoc.schedule.compute import Scheduled, compute
from tempoc.schedule.text import show
from tempoc.schedule.verify import proof, replay
from tests.schedule.programs import PROGRAMS, Builder, decode, nstep, returns
from tests.schedule.schedule_text import parse

ROOT = Path(__file__).resolve().parents[2]
LOOPS = {
    "updates": """
w.0
s.0
for i in 0..I-1:
  for t in 0..T:
    act[i, t]
  carry[i]
  for e in 2*i..2*i+2:
    order[e]
  batch[i]
  for k in 4*i..4*i+4:
    learn[k]
  told[i]
for t in 0..T:
  act[I-1, t]
for e in 2*I-2..2*I:
  order[e]
batch[I-1]
for k in 4*I-4..4*I:
  learn[k]
told[I-1]
""",
    "pooled": """
h.0
y.0
for n in 0..N:
  for t in 2*n..min(2*n+2, T):
    h.1[t]
  y.1[n]
""",
    "rnn": """
h.0
for t in 0..T:
  x[t]
  y[t]
  h.1[t]
""",
    "fibonacci": """
f.0
if T >= 2:
  f.1
for t in 2..T:
  f.2[t]
""",
    "attention": """
for t in 0..T:
  q[t]
  k[t]
  v[t]
  s[t]
  a[t]
""",
    "returns": """
r[T-1]
g.0
for t in reversed 0..T-1:
  r[t]
  g.1[t]
loss
""",
    "sums": """
for i in 0..I:
  x[i, 0]
  s.0.mul[i]
  s.0[i]
  for t in 1..T:
    x[i, t]
    s.1[i, t]
  m[i]
""",
    "edit": """
for j in 1..N:
  d.1[j]
d.0[0]
for i in 1..M:
  d.0[i]
  for j in 1..N:
    d.2[i, j]
""",
    "smooth": """
for t in 0..min(3, T):
  y[t]
for t in 3..T:
  y[t]
  z[t-3]
for t in max(0, T-3)..T:
  z[t]
""",
    "decode": """
tok.0
for t in 0..T:
  emb[t]
  x.0[t]
  for l in 0..L:
    qkv[t, l]
    att[t, l]
    y[t, l]
  out[t]
""",
    "prefill": """
for t in 0..T:
  emb[t]
  x.0[t]
  for l in 0..L:
    qkv[t, l]
    att[t, l]
    y[t, l]
  out[t]
""",
    "prompt": """
for l in 0..L:
  k.early[l]
  y.early[l]
  for t in max(0, S-W)..S:
    k.last[t, l]
for t in S..T:
  x.0[t]
  for l in 0..L:
    k.late[t, l]
    y[t, l]
""",
    "heat": """
for i in 0..I:
  for j in 0..J:
    u.0[i, j]
for t in 1..T:
  for j in 0..J:
    u.2[t, 0, j]
  for i in 1..I-1:
    u.2[t, i, 0]
    for j in 1..J-1:
      u.1[t, i, j]
    if J >= 2:
      u.2[t, i, J-1]
  if I >= 2:
    for j in 0..J:
      u.2[t, I-1, j]
""",
}


def schedule(b: Builder) -> str:
    return show(compute(b.statements, b.space).tree)


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_loops_are_those_that_a_person_writes(name: str) -> None:
    assert schedule(PROGRAMS[name]()) == LOOPS[name].lstrip()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_schedules_are_legal_and_parse_back(name: str) -> None:
    b = PROGRAMS[name]()
    found = compute(b.statements, b.space)
    assert list(proof(b.statements, found.tree, b.space)) == []
    assert list(replay(b.statements, found.tree, b.space, (1, 2, 3, 4))) == []
    assert parse(show(found.tree)) == found.tree


@pytest.mark.parametrize("n", [2, 3, 8, 64])
def test_learning_follows_acting_with_a_delay(n: int) -> None:
    b = nstep(n)
    found = compute(b.statements, b.space)
    steady = f"""
for t in {n}..T:
  act[t]
  step[t]
  g[t-{n - 1}]
  gw[t-{n - 1}]
  acc.1[t-{n - 1}]
"""
    assert steady.lstrip() in show(found.tree)
    sizes = (1, 2, 3, n - 1, n, n + 1, 2 * n)
    assert list(replay(b.statements, found.tree, b.space, tuple(s for s in sizes if s))) == []


def test_fixed_bounds_are_forgotten() -> None:
    two, thirty = decode(2), decode(30)
    assert schedule(two) == schedule(thirty)
    started = time.process_time()
    compute(thirty.statements, Space(thirty.universe))
    assert time.process_time() - started < 0.2


@pytest.mark.long("whole/test_determinism.py compiles whole programs")
def test_schedules_do_not_depend_on_the_process() -> None:
    code = (
        "from tests.schedule.programs import PROGRAMS\n"
        "from tempoc.schedule.compute import compute\n"
        "from tempoc.schedule.text import show\n"
        "for f in PROGRAMS.values():\n"
        "    b = f()\n"
        "    print(show(compute(b.statements, b.space).tree))\n"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] != ""


def test_the_verifier_finds_mistakes() -> None:
    b = returns()
    good = "for t in 0..T:\n  r[t]\ng.0\nfor t in reversed 0..T-1:\n  g.1[t]\nloss\n"

    def wrong(text: str) -> list[str]:
        tree = parse(text)
        found = list(proof(b.statements, tree, b.space))
        assert bool(found) == bool(list(replay(b.statements, tree, b.space)))
        return found

    assert wrong(good) == []
    assert wrong(good.replace("reversed ", "")) == [
        "g.1 may run before g.1 has written what it reads",
    ]
    assert wrong(good.replace("g.0\n", ""))[0].startswith("g.0 does not run exactly once")
    assert wrong(good.replace("0..T-1", "0..T"))[0].startswith("g.1 does not run exactly once")
    moved = "loss\n" + good.replace("loss\n", "")
    assert sorted(wrong(moved)) == [
        "loss may run before g.0 has written what it reads",
        "loss may run before g.1 has written what it reads",
    ]


def test_reads_of_what_the_same_instance_writes() -> None:
    b = Builder("t<T")
    b.tensor("h", "t")
    b.statement("step", "t", "h[t-1]", "~h[t]", writes=("h[t]",))
    found = compute(b.statements, b.space)
    assert show(found.tree) == "for t in 0..T:\n  step[t]\n"
    assert list(replay(b.statements, found.tree, b.space)) == []


def test_steps_of_two_dimensions_back_by_a_bound() -> None:
    """That there is an order follows from what is known of the bound: it is not 0."""
    b = Builder("t<T u<T c<C", "C <= T")
    b.statement("p", "t | t >= C", "w[t]")
    b.statement("w", "u | u >= C", "p[u-C]")
    found = compute(b.statements, b.space)
    assert show(found.tree) == "for u in C..T:\n  w[u]\n  p[u]\n"
    assert list(replay(b.statements, found.tree, b.space)) == []


def test_a_program_without_statements() -> None:
    b = Builder("t<T")
    assert show(compute(b.statements, b.space).tree) == "\n"


def test_every_compilation_proves_its_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is another schedule taken in place of a wrong one, which would hide the mistake."""

    def wrong(*given: Any) -> Scheduled:
        found = compute(*given)
        return replace(found, tree=parse(show(found.tree).replace("for t in 1..", "for t in 2..")))

    monkeypatch.setattr(compilation, "compute", wrong)
    text = "dim t < T\ninput x[t]: f32\nh[0] = 1.0\nh[t] = tanh(h[t-1]) + x\noutput h\n"
    loaded = load_source(Source("m.rt", text))
    with pytest.raises(DiagnosticError, match="RT449: the schedule is not legal"):
        assert Compilation(loaded, Options(level=0)).ordered
