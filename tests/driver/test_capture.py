"""`explain --capture`: what one CUDA graph can hold, and why it cannot hold the rest."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.capture.capture import CaptureReport, capture_report
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.footprint.launches import Launches, launches
from tempoc.frontend.syntax.load_modules import load_source

ONE, SEVERAL = "one graph", "a graph for each part"
HEAD = "dim t < T\ndim k < K\nparam w: f32[4, 4]\n"
STEP = "x[0] = ones([4])\nx[t+1] = "
CLASSES = {
    "a loop of the device": (f"{STEP}tanh(w @ sort(x[t]))\noutput x", ONE, ""),
    "a library": (f"{STEP}solve(w, x[t])\noutput x", SEVERAL, "for which XLA calls cuSO"),
    "a function of the user": (
        f'extern jax f(x: f32[4]) -> (y: f32[4]) from "jax.numpy:sin"\n{STEP}f(w @ x[t])\noutput x',
        ONE,
        "line 6 calls `f`: XLA records what JAX traces",
    ),
    "a loop within a loop": (
        "x[0] = 1.\ny[t, 0] = x[t]\ny[t, k+1] = sin(y[t, k]) when k < t\n"
        "x[t+1] = y[t, min(t, K-1)] + cos(x[t])\noutput x",
        SEVERAL,
        "the loop over `k` within it: each of its steps has a graph of its own",
    ),
    "a recurrence in a kernel": (
        "x[0] = ones([4])\nx[t+1] = tanh(x[t])\ny = sort(x[0:T], axis = 0)\noutput y",
        SEVERAL,
        "line 5 computes `x` in a loop within a kernel",
    ),
    "a loop of the host": (
        'extern host f(x: f32) -> (y: f32) from "math:sin"\ns[0] = 1.\ns[t+1] = f(s[t])\noutput s',
        "",
        "line 6 calls a Python function at each `t`",
    ),
    "a large print": (
        f"{STEP}w @ x[t]\nz = x @ ones([4, 400])\nprint z[t]",
        "",
        "line 7 prints",
    ),
    "a store that grows": (
        "y[t] = tanh(x[0:t+1] @ x[t]) @ x[0:t+1]\n"
        "x[0] = ones([4])\nx[t+1] = sort(y[t])\noutput x[T-1]",
        ONE,
        "`x` is allocated for more steps when these are needed",
    ),
    "a new array for each call": (
        'extern host f(x: f32[4]) -> (y: f32[4]) from "numpy:sin"\n'
        f"{STEP}w @ f(x[t])\noutput x[T-1]",
        ONE,
        "new arrays at each call",
    ),
}
UNTIL = "dim t < T until stop\nx[0] = 1.\nx[t+1] = cos(x[t])\nstop = x < 0.74\noutput x[T-1]\n"


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    text, graphs, why = CLASSES[name]
    report = captured(HEAD + text, T=4 * 10**6, K=7)
    parts = [p for p in report.parts if any(why in f.why for f in p.findings)]
    parts = parts if why else [*report.parts]
    assert parts, [(p.title, [f.why for f in p.findings]) for p in report.parts]
    assert parts[-1].graphs.startswith(graphs) and bool(parts[-1].graphs) == bool(graphs)


def test_a_loop_without_steps_prevents_nothing() -> None:
    text = f"{HEAD}x[0] = 1.\ny[t, 0] = x[t]\ny[t, k+1] = sin(y[t, k] + x[t])\n"
    text += "x[t+1] = y[t, K-1] + cos(x[t])\noutput x"
    why = [[f.why for p in captured(text, T=99, K=k).parts for f in p.findings] for k in (1, 9)]
    assert [any("loop over `k` within" in w for w in each) for each in why] == [False, True]


def test_data_decide_the_length() -> None:
    (part,) = captured(UNTIL, T=10**6).parts[-1:]
    assert "`stop`, line 4 decides" in part.findings[0].why
    assert part.graphs == f"{ONE} in each step"


def test_stores_that_live_with_the_host() -> None:
    source = load_source(Source("m.rt", f"{HEAD}{STEP}sort(w @ x[t])\noutput x\n"))
    compilation = Compilation(source, Options(regions=False, apart=True, level=1))
    away = compilation.with_away({"x": 1}, ())
    why = [f.why for p in capture_report(away, None, None).parts for f in p.findings]
    assert "`x` is copied between host and device in each step" in why


def captured(text: str, **bounds: int) -> CaptureReport:
    compilation = Compilation(load_source(Source("m.rt", text + "\n")), Options())
    return capture_report(compilation, bounds or None, None)


LIST = """\
001: kCopy  [source       | next=002 (1)] kCopy
002: kWhile [prev=001 (1) | sink        ]
condition:
    003: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1]
  body:
    000: kCommandBuffer [source | sink]
        004: kCustomKernel [source       | next=005 (1)] input_reduce_fusion grid: [8, 1, 1]
        005: kConditional [source       | next=006 (1)]
true_branch:
            009: kCustomKernel [source | sink] wrapped_sine grid: [1, 1, 1]
    006: kFft [prev=005 (1) | next=007 (1)] kFft
    007: kWhile [prev=001 (1) | sink        ]
    condition:
        003: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1]
      body:
        008: kCustomKernel [prev=006 (1) | sink] loop_add_fusion grid: [1, 1, 1]
"""


def test_launches_in_words() -> None:
    source = load_source(Source("m.rt", f"{HEAD}{STEP}tanh(x[t])\noutput x\n"))
    compilation = Compilation(source, Options(passes="canonicalize,fuse"))
    counted = launches(LIST, is_loop=True)
    names = [k.name for k in compilation.emitted.program.kernels]
    report = capture_report(compilation, None, dict.fromkeys(names, counted))
    texts = [p.graphs for p in report.parts]
    text = "one graph with 2 launches, 1 launch beside it (Fft) and a loop (in each of its steps 1 "
    assert texts and all(t.startswith(text + "launch one by one)") for t in texts), texts


def test_a_list_of_thunks() -> None:
    step = Launches(whole=False, graphs=0, held=0, alone=1, loops=(), between=())
    found = Launches(whole=False, graphs=1, held=2, alone=1, loops=(step,), between=("Fft",))
    assert launches(LIST, is_loop=True) == found
    assert launches("", is_loop=True) is None
    whole = "000: kCommandBuffer [source | sink]\n" + "".join(
        f"    {x}\n" for x in LIST.split("\n")
    )
    assert launches(whole, is_loop=True) == Launches(
        whole=True, graphs=1, held=5, alone=0, loops=(), between=()
    )
