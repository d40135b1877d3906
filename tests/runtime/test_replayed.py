"""Calls of a run given once more: in their order, with arguments compared."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.program.nodes.functions import ArrayType, Extern
from tempoc.runtime.host.host_calls import RecordedCall
from tempoc.runtime.host.replay import Diverged, ReplayedCalls

F32 = ArrayType(name="x", dtype="f32")


def extern(name: str, module: str = "m") -> Extern:
    return Extern(
        name=name, alias=name, host=True, module=module, function=name,
        arguments=(F32,), results=(F32,),
    )  # fmt: skip


def made(name: str, t: int, x: float) -> RecordedCall:
    return RecordedCall(name, (t,), (np.array(x, np.float32),), (np.array(-x, np.float32),))


def test_calls_come_again() -> None:
    calls = ReplayedCalls({"m": [made("f", 0, 1.0), made("g", 0, 2.0)], "n": [made("f", 3, 5.0)]})
    assert calls.call(extern("f"), "t", (0,), [np.array(1.0)]) == (-1.0,)
    assert calls.call(extern("f", "n"), "t", (3,), [np.array(5.0 + 1e-6)]) == (-5.0,)
    assert calls.unmade() == ["the run called g at 0 once too often"]
    assert calls.call(extern("g"), "t", (0,), [np.array(2.5)]) == (-2.0,)
    assert calls.unmade() == []
    assert calls.differing == [
        "argument x of g at t = 0: 1 of 1 elements differ, worst argument x of g at t = 0 = 2.0,"
        " the reference 2.5"
    ]
    with pytest.raises(Diverged, match="the run did not make the call of g at t = 1"):
        calls.call(extern("g"), "t", (1,), [np.array(0.0)])


def test_another_call_is_told() -> None:
    calls = ReplayedCalls({"m": [made("f", 1, 1.0)]})
    with pytest.raises(Diverged, match="the run called f at t = 1 before f at t = 0"):
        calls.call(extern("f"), "t", (0,), [np.array(1.0)])
