"""One compilation for many lengths: what only counts is data, and shapes are rounded up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import jax
import numpy as np
import pytest

from tempoc.program.analysis.traversal import blocks
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device.capacity import Capacities
from tempoc.runtime.execution.lengths import KernelOfLengths
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.rewriting.lengths.work import operator_count
from tempoc.runtime.run import Settings, run_given
from tempoc.runtime.walk.blocks import single_call_blocks
from tempoc.sdg.evaluation.interpret import evaluate as evaluate_graph
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic.walk import evaluate
from tests.support.agreement import compile_text
from tests.support.session.long import chosen, sampled

LENGTHS = (1, 2, 3, 7, 20, 33, 40, 57, 63, 64)
COMPILED = "/jax/core/compile/backend_compile_duration"

WORDS = """
import nn
dim t < T
input first: i32
param embed: f32[9, 4]
param W: f32[4, 4]
tok[0] = first
tok[t] = best[t-1]
x = embed[tok]
k = tanh(W @ x)
"""
CACHE = f"""{WORDS}
y = x + nn.softmax(k[0:t+1] @ x) @ k[0:t+1]
best = argmax(embed @ y)
output tok
"""
WINDOW = f"""{WORDS}
y = x + nn.softmax(k[max(0, t-2):t+1] @ x) @ k[max(0, t-2):t+1]
best = argmax(embed @ y)
output tok
output y[T-1] as last
"""
STATE = f"""{WORDS}
h[0] = k[0]
h[t] = tanh(k + 0.5 * h[t-1])
best = argmax(embed @ h)
output tok, best
"""
PROMPT = """
import nn
dim s < S
dim t < T
input prompt[s]: i32
param embed: f32[9, 4]
param W: f32[4, 4]
tok[t] = prompt[t] when t < S
tok[t] = best[t-1]
x = embed[tok]
k = tanh(W @ x)
y = x + nn.softmax(k[0:t+1] @ x) @ k[0:t+1]
best = argmax(embed @ y)
output tok
"""

TRAINING = """
import optim
dim t < T
input first: i32
param embed: f32[9, 4]
param W: f32[4, 4]
w[0] = W
seen = (argmax(embed @ w[t][0]) + first) % 9
loss = mean((tanh(embed[seen] @ w) - 1.0) ** 2)
w[t+1] = optim.adam(w, grad(loss, w), t, lr = optim.warmup_cosine(t, 0.1, 5, T))
output w[T-1] as last
output seen
"""


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """The functions that XLA compiled since the test began, without those that make zeros."""
    events: list[str] = []

    def listen(event: str, _: float, fun_name: str = "", **__: object) -> None:
        events.extend([fun_name] if event == COMPILED and "lambda" not in fun_name else [])

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)


def run(loaded: LoadedProgram, length: int) -> dict[str, np.ndarray]:
    """The outputs for a length, and for fixed other data."""
    random = np.random.default_rng(3)
    weights = {
        "embed": random.standard_normal((9, 4), np.float32),
        "W": random.standard_normal((4, 4), np.float32),
    }
    name = loaded.program.inputs[0].name
    data = {"first": np.int32(4), "prompt": np.array([4, 0, 7], np.int32)}
    given = Given(
        bounds={"T": length},
        inputs=as_sources({name: np.asarray(data[name])}),
        params=as_sources(weights),
    )
    return dict(run_given(loaded, given, Settings()).outputs)


@pytest.mark.usefixtures("each_its_own")
@pytest.mark.parametrize(
    ("text", "level", "most"),
    sampled(
        [
            (CACHE, 2, 2),
            (CACHE, 1, 4),
            (STATE, 2, 2),
            (WINDOW, 2, 2),
            (PROMPT, 1, 5),
            (PROMPT, 2, 4),
            (TRAINING, 2, 3),
        ],
        "more kinds of caches",
        of=2,
    ),
)
def test_ten_lengths_share_what_is_compiled(
    text: str, level: int, most: int, compilations: list[str]
) -> None:
    """And each gives what a program alone in its process gives."""
    loaded = compile_text(text, level)[1]
    shared = [run(loaded, length) for length in reversed(LENGTHS)][::-1]
    assert 0 < len(compilations) <= most
    compilations.clear()
    for length in LENGTHS:
        run(loaded, length)
    assert compilations == []
    step = 1 if chosen["long"] else 5
    for length, outputs in [*zip(LENGTHS, shared, strict=True)][::step]:
        loaded.known.clear()
        for name, array in run(loaded, length).items():
            np.testing.assert_array_equal(outputs[name], array, err_msg=f"{name} at {length}")


ROWS = """
dim t < T
input x[t]: f32[3]
param W: f32[3, 3]
h[0] = tanh(x[0])
h[t] = tanh(x[t] + W @ h[t-1])
back[T-1] = x[T-1]
back[t] = 0.5 * back[t+1] + exp(x[t])
loss = mean((h - x)[t = 0:T] ** 2) + max(back[0])
slope = grad(loss, W)
output h, back, loss, slope
output h[T-1] as last
"""


def rows(loaded: LoadedProgram, length: int) -> dict[str, np.ndarray]:
    """The outputs for as many rows of data."""
    random = np.random.default_rng(length)
    data = {"x": random.standard_normal((length, 3), np.float32)}
    weights = {"W": random.standard_normal((3, 3), np.float32)}
    given = Given(bounds={}, inputs=as_sources(data), params=as_sources(weights))
    return dict(run_given(loaded, given, Settings()).outputs)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
@pytest.mark.usefixtures("each_its_own")
def test_programs_with_rows_of_data_are_compiled_twice(compilations: list[str]) -> None:
    """Exactly for the first length, then for all up to a size."""
    graph, loaded = compile_text(ROWS, 2)
    for length in (41, 64, 33, 20, 64):
        outputs = rows(loaded, length)
        random = np.random.default_rng(length)
        x = {"x": random.standard_normal((length, 3), np.float32)}
        w = {"W": random.standard_normal((3, 3), np.float32)}
        for name, wanted in evaluate_graph(graph, {"T": length}, x, w).items():
            found = outputs[name]
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=name)
    assert compilations == ["jit(block)"] * 2


def padded_kernel(loaded: LoadedProgram) -> KernelOfLengths:
    """The block of a program that is one block, compiled for many lengths."""
    (kernels,) = [found for key, found in loaded.compiled.items() if "lengths" in key]
    assert isinstance(kernels, dict) and isinstance(kernels["block"], KernelOfLengths)
    return kernels["block"]


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
@pytest.mark.usefixtures("each_its_own")
@pytest.mark.parametrize(("others", "counts"), [(True, (2, 2, 2, 3, 3)), (False, (2, 2, 3, 3))])
def test_a_length_that_comes_often_has_a_kernel_of_its_own(
    others: bool, counts: tuple[int, ...], compilations: list[str]
) -> None:
    """Once its padding has taken what compiling takes: here a third of that with each call.

    It counts four times as much with the next call if none for another length comes between.
    """
    loaded = compile_text(ROWS, 2)[1]
    for length in (41, 64, 33):
        first = rows(loaded, length)
    kernel = padded_kernel(loaded)
    compiled = operator_count(kernel.several[0].form) * kernel.tuning.compiled_bytes
    kernel.tuning = replace(kernel.tuning, padded_array_bytes=compiled // 9)  # x, h, back
    assert compilations == ["jit(block)"] * 2
    for count in counts:
        if others:
            rows(loaded, 33 if count == 2 else 41)
        later = rows(loaded, 35)
        assert len(compilations) == count
    for length, before in ((33, first), (35, later)):
        for name, array in rows(loaded, length).items():
            np.testing.assert_allclose(array, before[name], rtol=1e-5, atol=1e-6)
    assert len(compilations) == 3


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
def test_the_smallest_arrays_that_are_large_enough_are_taken() -> None:
    loaded = compile_text(ROWS, 2)[1]
    kernel: KernelOfLengths | None = None
    for length in (50, 20, 600, 700):
        rows(loaded, length)
        if kernel is None:
            kernel = padded_kernel(loaded)
            kernel.tuning = replace(kernel.tuning, padded_bytes=1 << 16, compiled_part=1 << 20)
    assert kernel is not None
    sizes = [like.most for like in kernel.several]
    assert len(sizes) > 1 and sizes == sorted(sizes)
    for _ in range(2):
        (_, _, like), *_ = kernel.cheap({"T": 21}, {})
        assert like.most == sizes[0]
        kernel.several.reverse()


TRAINED = """
import nn, optim
dim i < I
dim t < T
const D = 8
input text[t]: i32
param net0: {embed: f32[9, D], W: f32[D, D], U: f32[D, D]}
net[0] = net0
net[i+1] = optim.sgd(net, grad(loss, net), i, lr = 0.1)
x = net.embed[text]
h[i, 0] = zeros([D])
h[i, t+1] = tanh(net.U @ x + net.W @ h[i, t])
nll = -(nn.log_softmax(net.embed @ h))[text]
loss = mean(nll[t = 0:T])
output loss
output net[I-1].W as last
"""
ATTENDED = TRAINED.replace(
    "h[i, t+1] = tanh(net.U @ x + net.W @ h[i, t])",
    "y = nn.softmax(x[t = 0:t+1] @ (net.U @ x)) @ (x @ net.W)[t = 0:t+1]\nh[i, t+1] = y",
)


def training(length: int, far: float) -> Given:
    """So many words, and weights of which one is ``far``."""
    random = np.random.default_rng(length)
    shapes = {"embed": (9, 8), "W": (8, 8), "U": (8, 8)}
    weights = {f"net0.{n}": random.standard_normal(s, np.float32) for n, s in shapes.items()}
    weights["net0.W"][1, 2] = far
    text = {"text": random.integers(0, 9, length, np.int32)}
    return Given(bounds={"I": 2}, inputs=as_sources(text), params=as_sources(weights))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
@pytest.mark.usefixtures("each_its_own")
@pytest.mark.parametrize(
    ("text", "far", "most"),
    sampled(
        [(TRAINED, 0.5, 2), (TRAINED, np.nan, 2), (TRAINED, np.inf, 2), (ATTENDED, 0.5, 4)],
        "more kinds of training",
        of=2,
    ),
)
def test_lengths_of_training_share_kernels(
    text: str, far: float, most: int, compilations: list[str]
) -> None:
    """And each finds what the evaluator does, whatever padding holds.

    What grows with the square of a length has arrays of more sizes.
    """
    graph, loaded = compile_text(text, 2)
    for length in (40, 33, 57, 64, 20):
        given = training(length, far)
        found = run_given(loaded, given, Settings()).outputs
        inputs, params = (
            {name: source.read() for name, source in sources.items()}
            for sources in (given.inputs, given.params)
        )
        bounds = {"T": length, "I": 2}
        for name, wanted in evaluate_graph(graph, bounds, inputs, params).items():
            about = f"{name} at {length}"
            np.testing.assert_allclose(found[name], wanted, rtol=1e-3, atol=1e-4, err_msg=about)
    assert compilations.count("jit(block)") <= most


BATCH = """
dim b < B
dim t < T
dim h < H = T // 2
input x[b, t]: f32[3]
param W: f32[3, 3]
y[b, 0] = tanh(x[b, 0])
y[b, t] = tanh(x[b, t] + W @ y[b, t-1])
z[b, h] = y[b, 2*h] - y[b, 2*h+1]
loss = mean(z[0:B, 0:H] ** 2)
slope = grad(loss, W)
order[b] = argsort(x[b, 0:T][:, 0])
output z, loss, slope, order
"""


def compare(
    graph: Graph, loaded: LoadedProgram, bounds: Mapping[str, int], shape: tuple[int, ...]
) -> None:
    """What sequences `x` of a shape give, with what the evaluator finds."""
    random = np.random.default_rng(shape)
    x = {"x": random.standard_normal(shape, np.float32)}
    w = {"W": random.standard_normal((3, 3), np.float32)}
    given = Given(bounds={}, inputs=as_sources(x), params=as_sources(w))
    outputs = run_given(loaded, given, Settings()).outputs
    for name, wanted in evaluate_graph(graph, bounds, x, w).items():
        np.testing.assert_allclose(outputs[name], wanted, rtol=1e-4, atol=1e-5, err_msg=name)


def compare_batch(graph: Graph, loaded: LoadedProgram, batch: int, length: int) -> None:
    """The same of a batch of sequences."""
    compare(graph, loaded, {"B": batch, "T": length}, (batch, length, 3))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
@pytest.mark.usefixtures("each_its_own")
def test_two_bounds_change_at_once(compilations: list[str]) -> None:
    """Exactly for the first ones, then for all even lengths in batches of up to a size."""
    graph, loaded = compile_text(BATCH, 2)
    for batch, length in ((4, 40), (3, 44), (4, 64), (12, 12)):
        compare_batch(graph, loaded, batch, length)
    assert compilations == ["jit(block)"] * 2


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
@pytest.mark.usefixtures("each_its_own")
def test_of_two_bounds_one_is_shared(compilations: list[str]) -> None:
    """Where another batch would cost much and another length little."""
    graph, loaded = compile_text(BATCH, 2)
    compare_batch(graph, loaded, 4, 20)
    kernel = padded_kernel(loaded)
    kernel.tuning = replace(kernel.tuning, padded_bytes=0, rounded_part=5, compiled_part=1 << 30)
    for length in (32, 30):
        compare_batch(graph, loaded, 8, length)
    assert compilations == ["jit(block)"] * 2
    assert [like.names for like in kernel.several] == [(("T",),)]


ANSWERED = """
import nn
dim p < P
dim s < S
dim t < T
assume S <= P
input prompt[p]: i32
param embed: f32[9, 4]
param W: f32[4, 4]
tok[t] = prompt[t] when t < S
tok[t] = best[t-1]
x = embed[tok]
k = tanh(W @ x)
y = x + nn.softmax(k[0:t+1] @ x) @ k[0:t+1]
best = argmax(embed @ y)
seen = mean(embed[prompt[0:S]])
output tok, seen
"""


def answered(place: int, step: int, room: int) -> tuple[Given, dict[str, int]]:
    """A prompt of so many words, of which some count, in a text of some length; and the bounds."""
    random = np.random.default_rng([place, step, room])
    weights = {
        "embed": random.standard_normal((9, 4), np.float32),
        "W": random.standard_normal((4, 4), np.float32),
    }
    prompt = as_sources({"prompt": random.integers(0, 9, place, np.int32)})
    bounds = {"P": place, "S": step, "T": room}
    given = Given(bounds={"S": step, "T": room}, inputs=prompt, params=as_sources(weights))
    return given, bounds


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
@pytest.mark.usefixtures("each_its_own")
def test_bounds_that_have_been_equal_count_as_one_length(compilations: list[str]) -> None:
    """One more kernel is compiled when they differ, and each run gives what a program alone does.

    The prompt has as many words as count, at first: then one of them alone cannot be larger.
    """
    graph, loaded = compile_text(ANSWERED, 2)
    new = []
    lengths = [(n, n, t) for n, t in ((29, 60), (26, 60), (32, 51), (40, 60))]
    for bounds in (*lengths, (32, 27, 60), (50, 45, 53)):
        compilations.clear()
        given, known = answered(*bounds)
        found = run_given(loaded, given, Settings()).outputs
        new += [len(compilations)]
        inputs, params = (
            {name: source.read() for name, source in sources.items()}
            for sources in (given.inputs, given.params)
        )
        for name, wanted in evaluate_graph(graph, known, inputs, params).items():
            np.testing.assert_allclose(found[name], wanted, rtol=1e-4, err_msg=f"{name} {bounds}")
    assert new == [1, 1, 0, 0, 1, 0]


STEPS = """
dim t < T
dim b < B
input x[t, b]: f32[3]
param W: f32[3, 3]
h[0, b] = x[0, b]
h[t, b] = tanh(x[t, b] + W @ h[t-1, b] + mean(h[t-1, 0:B]))
y[t] = max(h[t, 0:B])
output h, y
"""


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="arrays are padded on CPUs")
@pytest.mark.usefixtures("each_its_own")
def test_kernels_in_loops_of_the_host_are_shared(compilations: list[str]) -> None:
    """As where each step calls functions in Python, or a layer is a call."""
    graph, loaded = compile_text(STEPS, 2, regions=False)
    new = []
    for steps, batch in ((6, 20), (6, 25), (6, 40), (6, 18), (30, 18)):
        compilations.clear()
        compare(graph, loaded, {"B": batch, "T": steps}, (steps, batch, 3))
        new += [len(compilations)]
    assert new == [4, 4, 0, 0, 4]


SUMMED = """
dim t < T
dim s < S
input x[t]: f32
input y[s]: f32
z = y - max(x[0:T])
output z
"""
GROWN = """
dim s < S
dim t < T
input x[s]: f32
h[0] = 1.0
h[t] = 0.5 * h[t-1] + sum(h[0:t]) / 99.0
z = x * 2.0 + sum(h[0:T])
output z
"""


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (SUMMED, [(5, 3), (5, 4), (2, 4), (9, 4), (9, 3)]),
        (GROWN, [(20, 3), (20, 4), (200, 4), (20, 4)]),
    ],
)
def test_a_kernel_of_one_text_has_arrays_of_several_sizes(
    text: str, sizes: list[tuple[int, int]]
) -> None:
    """As a kernel that only sums rows is told nothing of how many there are."""
    graph, loaded = compile_text(text, 2)
    for length, other in sizes:
        bounds = {"T": length, "S": other}
        random = np.random.default_rng([length, other])
        shapes = {i.name: length if i.dims == ("t",) else other for i in loaded.program.inputs}
        data = {name: random.uniform(-2, -1, n).astype(np.float32) for name, n in shapes.items()}
        given = Given(bounds=bounds, inputs=as_sources(data), params={})
        outputs = run_given(loaded, given, Settings()).outputs
        (wanted,) = evaluate_graph(graph, bounds, data, {}).values()
        np.testing.assert_allclose(outputs["z"], wanted, rtol=1e-5, err_msg=str(bounds))


def test_lengths_are_judged_alike() -> None:
    """One call, or several: the same for all lengths whose stores have one size."""
    program = compile_text(CACHE, 2)[1].program
    (block,) = blocks(program.tree)
    assert evaluate(block.single, {"T": 4097}) and not evaluate(block.single, {"T": 8192})
    assert not any(single_call_blocks(program, {"T": length}, ()) for length in (4097, 8192))
    assert all(single_call_blocks(program, {"T": length}, ()) for length in (2049, 4096))


LEARNT = """
dim i < I
dim t < T
input x[t]: f32[64]
input start: f32[64, 64]
w[0] = start
h[i, 0] = x[0]
h[i, t] = sort(tanh(w[i] @ h[i, t-1] + x[t]))
loss = sum(h[t = T-1] ** 2)
w[i+1] = w - 0.01 * h[t = T-1]
output loss
"""


def test_few_steps_of_training_are_one_call() -> None:
    """Also where as many as there is room for at first would be several."""
    program = compile_text(LEARNT, 2)[1].program
    (block,) = blocks(program.tree)
    bounds = [{"I": steps, "T": 1200} for steps in (1, 4, 16, 32, 64)]
    assert [bool(evaluate(block.single, b)) for b in bounds] == [True] * 4 + [False]
    assert [bool(single_call_blocks(program, b, ())) for b in bounds] == [True] * 4 + [False]
    sizes = {Capacities.of(program, b).sizes for b in bounds[:4]}
    assert len(sizes) == 1
