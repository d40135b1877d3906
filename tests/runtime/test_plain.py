"""Programs that are a single call run without the machine from the second time on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime import run as running
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device import backend
from tempoc.runtime.execution.machine import Machine
from tempoc.runtime.execution.specialize import Specialization
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.run import RunResult, Settings, run_given
from tests.runtime.programs import SCAN, SCAN_KERNELS, SUMS, SUMS_KERNELS, write


class Built:
    """A machine that counts how often one is built."""

    count = 0

    def __new__(cls, *args, **named):
        cls.count += 1
        return Machine(*args, **named)


@pytest.fixture
def built(monkeypatch):
    Built.count = 0
    monkeypatch.setattr(running, "Machine", Built)
    return Built


def once(loaded: LoadedProgram, x: np.ndarray, w: np.ndarray, **settings: bool) -> RunResult:
    given = Given(bounds={}, inputs=as_sources({"x": x}), params=as_sources({"net.W": w}))
    return run_given(loaded, given, Settings(**settings))


def test_later_runs_need_no_machine(tmp_path, built):
    loaded = load(write(tmp_path, SCAN, SCAN_KERNELS))
    random = np.random.default_rng(0)
    for _ in range(3):
        x, w = random.normal(size=(7, 3)).astype("f"), random.normal(size=(3, 3)).astype("f")
        plain, watched = once(loaded, x, w), once(loaded, x, w, account=True)
        for name in ("h", "end"):
            np.testing.assert_array_equal(plain.outputs[name], watched.outputs[name])
        assert plain.bounds == watched.bounds == {"T": 7}
        assert plain.given_bytes == watched.given_bytes == 4 * (21 + 9)
    assert built.count == 4  # the first one, and those that are watched


def test_checks_need_a_machine(tmp_path, built):
    loaded = load(write(tmp_path, SUMS, SUMS_KERNELS))
    for value in (1, 1, 3):
        given = Given(
            bounds={}, inputs=as_sources({"x": np.full((2, 40), value, np.int32)}), params={}
        )
        if value == 1:
            run_given(loaded, given, Settings())
            continue
        with pytest.raises(RunError, match="larger than 50"):
            run_given(loaded, given, Settings())
    assert built.count == 3


def test_what_fails_is_named(tmp_path, built):
    loaded = load(write(tmp_path, SCAN, SCAN_KERNELS))
    w, x = np.eye(3, dtype="f"), np.ones((4, 3), "f")
    once(loaded, x, w)
    (known,) = (k for k in loaded.known.values() if isinstance(k, Specialization))
    assert known.direct is not None

    def failing(*arrays):
        raise backend.DeviceError("out of everything")

    call = replace(known.direct.call, kernel=failing, on_host=failing)
    known.direct = known.direct._replace(call=call)
    with pytest.raises(RunError, match="out of everything") as error:
        once(loaded, x, w)
    (problem,) = error.value.diagnostics
    assert "scan" in problem.message and problem.notes == ("it computes h[t] = ...",)
    assert built.count == 2
