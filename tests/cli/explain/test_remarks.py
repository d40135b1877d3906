"""`--remarks`, `--stats`, `--dump-passes`: what became of each equation, and of the graphs."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.session import Session

PROGRAM = """dim b < B
dim t < T
input x[b]: f32[3]
input z[t]: f32
param W: f32[3, 3]

y[b, t] = W @ x
c[0] = 0.0
c[t] = c[t-1]
s[b, t] = sum(y) * z + c
h[0] = z[0]
h[t] = 0.5 * h[t-1] + z
output s, h
"""
PASSES = "canonicalize,reduce_domain,vectorize,fuse"


def paragraphs(text: str) -> dict[str, list[str]]:
    """The lines below each headline, by what stands behind the place."""
    found = {}
    for part in text.rstrip().split("\n\n"):
        head, *lines = part.splitlines()
        found[head.split(": ", 1)[1]] = [line.strip() for line in lines]
    return found


def test_remarks_stand_under_their_equations(tempoc: Session) -> None:
    Path("m.rt").write_text(PROGRAM)
    assert tempoc(f"explain m.rt --dump-sdg --remarks --passes {PASSES}") == 0
    said = paragraphs(tempoc.err)
    order = [line for line in PROGRAM.splitlines() if " = " in line]
    assert list(said) == [*order, "the program as a whole"]
    assert said["s[b, t] = sum(y) * z + c"] == [
        "kernel s.sum: all b at once",
        "kernel s: all b and t at once",
        "reduce_domain: `s.sum`: the same for all t, computed once",
    ]
    waits = [line for line in said["h[t] = 0.5 * h[t-1] + z"] if "needs what another" in line]
    assert len(waits) == 1 and waits[0].startswith("vectorize: t stays a loop for ")
    assert said["c[0] = 0.0"] == ["no kernel of its own: others write it, or nobody needs it"]
    assert said["c[t] = c[t-1]"] == [
        "reduce_domain: all equations of `c` give one value: read from `c.0`"
    ]


def test_what_a_pass_says_last_counts_where_it_decides_anew(tempoc: Session) -> None:
    Path("m.rt").write_text(PROGRAM)
    twice = PASSES.replace("fuse", "vectorize,fuse")
    assert tempoc(f"explain m.rt --dump-sdg --remarks --passes {PASSES}") == 0
    once = tempoc.err
    assert tempoc(f"explain m.rt --dump-sdg --remarks --passes {twice}") == 0
    assert tempoc.err == once


def test_remarks_as_json(tempoc: Session) -> None:
    Path("m.rt").write_text(PROGRAM)
    assert tempoc(f"compile m.rt -o out --remarks --error-format json --passes {PASSES}") == 0
    found = json.loads(tempoc.err)
    texts = {c["text"]: c for c in found}
    assert texts["h[t] = 0.5 * h[t-1] + z"]["kernels"] == [
        {"name": "h.1", "for_each": ["t"], "at_once": []}
    ]
    chapter = texts["s[b, t] = sum(y) * z + c"]
    assert chapter["statement"]["path"] == "m.rt" and chapter["statement"]["line"] == 10
    (remark,) = chapter["remarks"]
    assert remark["pass"] == "reduce_domain" and remark["at"]["line"] == 10
    assert found[-1]["statement"] is None and found[-1]["remarks"]


def test_functions_of_modules_have_their_own_place(tempoc: Session) -> None:
    Path("part.rt").write_text(
        "def decayed(v, dim t) {\n  m[0] = v[t = 0]\n  m[t] = 0.5 * m[t-1] + v\n  return m\n}\n"
    )
    Path("m.rt").write_text(
        'import "part.rt" as part\ndim t < T\ninput a[t]: f32\n'
        "y = part.decayed(a, t) + 1.0\noutput y\n"
    )
    assert tempoc("explain m.rt --dump-sdg --remarks --passes vectorize,fuse") == 0
    said = paragraphs(tempoc.err)
    assert list(said) == [
        "y = part.decayed(a, t) + 1.0",
        "m[t] = 0.5 * m[t-1] + v",
        "the program as a whole",
    ]
    assert "kernel y: for each t" in said["y = part.decayed(a, t) + 1.0"]


def test_stats_count_what_each_pass_left(tempoc: Session) -> None:
    Path("m.rt").write_text(PROGRAM)
    assert tempoc(f"explain m.rt --dump-sdg --stats --passes {PASSES}") == 0
    head, *rows, last = tempoc.err.splitlines()
    assert head.split() == ["nodes", "edges", "merges", "stars", "kernels", "ms"]
    assert [row.split()[0] for row in rows] == ["elaborate", *PASSES.split(",")]
    nodes, merges, stars, kernels = ([int(row.split()[k]) for row in rows] for k in (1, 3, 4, 5))
    assert nodes == sorted(nodes[:3], reverse=True) + nodes[3:]
    assert merges[:2] == [2, 2] and merges[2:] == [1, 1, 1]
    assert stars[2] == 0 < stars[3] and kernels[-2] == 0 < kernels[-1]
    assert last.startswith(f"{kernels[-1]} statements, 1 loops, {kernels[-1]} kernels, 1 regions, ")


def test_graphs_after_each_pass_mark_what_is_new(tempoc: Session) -> None:
    Path("m.rt").write_text(PROGRAM)
    assert tempoc(f"explain m.rt --dump-passes --passes {PASSES}") == 0
    first, *chapters = re.split(r"\n# (?=\d)", tempoc.out)
    assert first.startswith("# elaborate: ") and "> " not in first
    reduced = next(c for c in chapters if c.startswith("2 reduce_domain: "))
    marked = [line.split()[1] for line in reduced.splitlines() if line.startswith("> ")]
    assert marked == ["%s.sum", "%s"]
    assert "\n# Gone: %c.1, %c\n\n" in reduced and "Gone: " not in first
