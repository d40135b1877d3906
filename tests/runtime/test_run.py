from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.program.nodes.buffers import Key
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import load
from tempoc.runtime.run import Settings, run, run_given
from tests.runtime.programs import (
    FIBONACCI,
    FIBONACCI_KERNELS,
    RNN,
    RNN_KERNELS,
    SUMS,
    SUMS_KERNELS,
    write,
)  # fmt: skip
from tests.support.examples import ROOT

FILTERS = ROOT / "tests" / "bench" / "gallery" / "signals" / "biquad.rt"


@pytest.mark.parametrize(("steps", "expected"), [(1, 1), (2, 1), (3, 2), (10, 55)])
def test_fibonacci(tmp_path, steps, expected):
    out = write(tmp_path, FIBONACCI, FIBONACCI_KERNELS)
    assert run(out, {"T": steps}).outputs["last"] == expected


def test_rnn(tmp_path):
    out = write(tmp_path, RNN, RNN_KERNELS)
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(7, 3)).astype("f"), rng.normal(size=(3, 3)).astype("f")
    result = run(out, inputs={"x": x}, params={"net.W": w})
    h, expected = np.zeros(3), []
    for row in x:
        h = np.tanh(w @ h + row)
        expected.append(h)
    np.testing.assert_allclose(result.outputs["h"], expected, rtol=1e-5)
    np.testing.assert_allclose(result.outputs["end"], h[:2], rtol=1e-5)
    assert result.bounds == {"T": 7}
    # Nothing of what was given is touched, although kernels work in place.
    assert x.flags.writeable and np.array_equal(
        x, np.random.default_rng(0).normal(size=(7, 3)).astype("f")
    )


def test_sums_by_key(tmp_path):
    out = write(tmp_path, SUMS, SUMS_KERNELS)
    x = np.arange(10, dtype=np.int32).reshape(2, 5)
    result = run(out, {"B": 2}, {"x": x}).outputs
    np.testing.assert_array_equal(result["y"], x.cumsum(1)[:, ::2])
    np.testing.assert_array_equal(result["z"], x.cumsum(1)[1, 1:])
    assert result["y"].dtype == np.int32


def test_failed_check_names_the_equation(tmp_path):
    out = write(tmp_path, SUMS, SUMS_KERNELS)
    with pytest.raises(RunError) as error:
        run(out, {}, {"x": np.full((2, 40), 3, np.int32)})
    (problem,) = error.value.diagnostics
    assert "larger than 50" in problem.message and "b = 0, t = 16" in problem.message
    assert problem.notes == ("in y[b, t] = ...",)


def test_reading_what_nobody_wrote_is_reported(tmp_path):
    store = replace(FIBONACCI.stores[0], keys=(Key(dim="t", modulo=1),))
    out = write(tmp_path, replace(FIBONACCI, stores=(store,)), FIBONACCI_KERNELS)
    missing = replace(FIBONACCI, tree=FIBONACCI.tree.items[1])
    with pytest.raises(RunError, match="RT552"):
        run(write(tmp_path / "keyed", missing, FIBONACCI_KERNELS), {"T": 4})
    with pytest.raises(RunError, match="RT552"):
        single = replace(missing, stores=(store,))
        run(write(tmp_path / "single", single, FIBONACCI_KERNELS), {"T": 4})
    assert run(out, {"T": 2}).outputs["last"] == 1


def test_what_was_changed_by_hand_does_not_run(tmp_path):
    out = write(tmp_path, FIBONACCI, FIBONACCI_KERNELS)
    text = (out / "program.json").read_text()
    for changed in (
        text.replace('"T"', '"S"'),
        text[:-3] + " }\n",
        text.replace('"seal"', '"sail"'),
    ):
        (out / "program.json").write_text(changed)
        with pytest.raises(RunError, match="RT502"):
            run(out, {"T": 4})


def test_runs_are_held_and_gone_on_with(tmp_path):
    out, kept = write(tmp_path, FIBONACCI, FIBONACCI_KERNELS), tmp_path / "kept"
    whole = run(out, {"T": 10}, checkpoint=kept, every=0).outputs["last"]
    assert (kept / "state.safetensors").exists()
    assert run(out, {"T": 10}, resume=kept).outputs["last"] == whole == 55
    with pytest.raises(RunError, match="RT584"):
        run(out, {"T": 10}, checkpoint=kept)
    with pytest.raises(RunError, match="RT587"):
        run(out, {"T": 9}, resume=kept)
    with pytest.raises(ValueError, match="name the directory"):
        run(out, {"T": 9}, every=5.0)


def test_a_budget_is_kept_to(tmp_path):
    out = write(tmp_path, FIBONACCI, FIBONACCI_KERNELS)
    assert run(out, {"T": 3}, memory_budget=1000).outputs["last"] == 2
    with pytest.raises(RunError, match="RT580"):
        run(out, {"T": 3}, memory_budget=1)


def test_inputs_with_another_order_of_axes(tmp_path):
    """Later runs of a loaded program arrange them as the first did."""
    Compilation.from_path(str(FILTERS), Options()).write(tmp_path / "out")
    loaded = load(tmp_path / "out", ())
    orders = {store.name: store.order for store in loaded.program.stores}
    assert orders["x"] == (1, 0)
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    params = as_sources({"a": 0.1 * x[:2, :2], "b": 0.1 * x[:2, :3]})
    given = Given(bounds={}, inputs=as_sources({"x": x}), params=params, cast_params=False, seed=0)
    first, *later = (run_given(loaded, given, Settings()).outputs["z"] for _ in range(3))
    for outputs in later:
        np.testing.assert_array_equal(outputs, first)
