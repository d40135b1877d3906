from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes.bounds import Assumption, ProgramBound
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.program.nodes.nodes import Program, ProgramInput, ProgramParam
from tempoc.runtime.data.bindings import Given, bind
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device.stores import layout, place_given
from tests.program.hand_written import lifted, op

PROGRAM = lifted(Program(
    name="p",
    bounds=(
        ProgramBound(name="B"), ProgramBound(name="T"), ProgramBound(name="L", value=2),
        ProgramBound(name="N", value=op("//", op("+", "T", 1), 4)),
    ),
    dims=(("b", "B"), ("l", "L"), ("t", "T")),
    assumptions=(Assumption(text="B <= T", condition=op("<=", "B", "T"), where="p.rt:3"),),
    inputs=(
        ProgramInput(name="x", store="x", dims=("b", "t"), dtype="f32", shape=(3,)),
        ProgramInput(name="sel", store="sel", dims=("t",), dtype="i32", shape=()),
    ),
    params=(
        ProgramParam(
            name="w", store="w", dims=("l",), dtype="f32", shape=(2, "T"), template="h.{l}.w"
        ),
        ProgramParam(name="u", store="u", dims=("l",), dtype="f32", shape=(), template="u"),
        ProgramParam(
            name="v", store="v", dims=("b", "l"), dtype="f32", shape=(), template="v.{l}",
            has_default=True,
        ),
    ),
    stores=(
        Buffer(
            name="x", dtype="f32", shape=(3,),
            axes=(BufferAxis(dim="b", size="B"), BufferAxis(dim="t", size="T")),
        ),
        Buffer(name="sel", dtype="i32", axes=(BufferAxis(dim="t", size="T"),)),
        Buffer(name="w", dtype="f32", keys=(Key(dim="l"),), shape=(2, "T")),
        Buffer(name="u", dtype="f32", axes=(BufferAxis(dim="l", size="L"),)),
        Buffer(name="v", dtype="f32", keys=(Key(dim="b"),), axes=(BufferAxis(dim="l", size="L"),)),
    ),
))  # fmt: skip


def good():
    return {
        "x": np.zeros((2, 5, 3), "f4"),
        "sel": np.zeros(5, "i4"),
    }, {
        "h.0.w": np.zeros((2, 5), "f4"),
        "h.1.w": np.ones((2, 5), "f4"),
        "u": np.array([7, 8], "f4"),
    }


def bound(bounds=None, inputs=None, params=None, **more):
    x, w = good()
    return bind(
        PROGRAM,
        Given(
            bounds=bounds or {},
            inputs=as_sources({k: v for k, v in (x | (inputs or {})).items() if v is not None}),
            params=as_sources({k: v for k, v in (w | (params or {})).items() if v is not None}),
            **more,
        ),
    )


def problems(*args, **more):
    with pytest.raises(RunError) as error:
        bound(*args, **more)
    return [
        (p.code, p.message + " " + " ".join(p.notes) + f" {p.help}")
        for p in error.value.diagnostics
    ]


def test_everything_fits():
    found = bound({"B": np.int64(2), "T": "5"})
    assert found.bounds == {"B": 2, "T": 5, "L": 2, "N": 1}
    assert set(found.params) == {"w", "u"}
    assert bound().bounds == found.bounds


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (({"T": 6},), "RT514", ["T is 6 by --bounds T=6 but 5 by axis 1 of x"]),
        (({"L": 2},), "RT512", ["fixed to 2", "-D L="]),
        (({"N": 2},), "RT512", ["N = (T + 1) // 4"]),
        (({"TT": 2},), "RT511", ["no bound TT", "did you mean T?"]),
        (({"T": 0},), "RT513", ["integer >= 1", "not 0"]),
        (({"T": "1.5"},), "RT513", ["not 1.5"]),
        (({"T": True},), "RT513", ["True"]),
        (({}, {"sel": None}), "RT520", ["sel[t]: i32", "--input sel=FILE"]),
        (({}, {"sal": np.zeros(5, "i4")}), "RT521", ["sal", "did you mean sel?"]),
        (({}, {"sel": np.zeros(5, "f4")}), "RT522", ["sel", "f32 (float32)", "i32 (int32)"]),
        (({}, {"sel": np.zeros((5, 1), "i4")}), "RT523", ["[5, 1] (2 axes)", "[T = 5] (1 axis)"]),
        (({}, {"x": np.zeros((2, 5, 4), "f4")}), "RT524", ["axis 2", "is 4", "wants 3"]),
        (({}, {"sel": np.zeros(4, "i4")}), "RT514", ["5 by axis 1 of x but 4 by axis 0 of sel"]),
        (
            ({}, {}, {"h.1.w": None, "g.1.w": 1}),
            "RT530",
            ["h.1.w", "param w", "did you mean g.1.w?"],
        ),
        (({}, {}, {"u": np.zeros(3, "f4")}), "RT524", ["axis 0", "is 3", "L = 2"]),
        (({}, {}, {"u": np.zeros(2, "f8")}), "RT522", ["f64", "--cast-params"]),
        (({}, {}, {"v.1": np.zeros(2, "f4")}), "RT530", ["v.0"]),
    ],
)  # fmt: skip
def test_one_mistake_one_problem(args, code, words):
    ((found, text),) = problems(*args)
    assert found == code
    assert all(word in text for word in words), text


def test_violated_assumption_with_its_text():
    ((code, text),) = problems({}, {"x": np.zeros((6, 5, 3), "f4")})
    assert code == "RT516"
    assert "B <= T does not hold for B = 6, T = 5" in text and "p.rt:3" in text


def test_derived_bound_below_one():
    small = {"x": np.zeros((1, 2, 3), "f4"), "sel": np.zeros(2, "i4")}
    weights = {"h.0.w": np.zeros((2, 2), "f4"), "h.1.w": np.zeros((2, 2), "f4")}
    assert [c for c, _ in problems({}, small, weights)] == ["RT515"]


def test_missing_bound_that_follows_from_missing_data_is_no_second_mistake():
    assert [c for c, _ in problems({}, {"x": None})] == ["RT520"]
    assert [c for c, _ in problems({}, {"x": np.zeros(3, "f4")})] == ["RT523"]


def test_all_mistakes_at_once():
    found = problems({"Q": 1}, {"sel": np.zeros(5, "f4"), "y": 1.0}, {"u": None})
    assert [c for c, _ in found] == ["RT511", "RT522", "RT521", "RT530"]


def test_params_widen_only_without_loss():
    bound(params={"u": np.zeros(2, "f2")})
    bound(params={"u": np.zeros(2, ml_dtypes.bfloat16)})
    bound(params={"u": np.zeros(2, "f8")}, cast_params=True)
    bound(params={"u": np.zeros(2, ml_dtypes.float8_e4m3fn)})
    assert problems(params={"u": np.zeros(2, "i4")})[0][0] == "RT522"
    ((code, text),) = problems(params={"u": np.zeros(2, "c8")}, cast_params=True)
    assert code == "RT522" and "--cast-params" not in text


def test_other_tensors_in_files_are_ignored():
    bound(inputs={"other": np.zeros(1)}, extra=frozenset({"other"}))
    bound(params={"other": np.zeros(1)})


def test_params_are_placed_by_key_and_axis():
    v = {"v.0": np.array([1, 2], "f4"), "v.1": np.array([3, 4], "f4")}
    found = bound(params=v)
    layouts = {s.name: layout(s, found.bounds) for s in PROGRAM.stores}
    cells = place_given(PROGRAM, found, layouts)
    assert np.asarray(cells["w"][1,])[0, 0] == 1
    assert np.asarray(cells["u"][()]).tolist() == [7, 8]
    # v[b, l] comes from v.{l}[b]; the store has an array over l for each b.
    assert np.asarray(cells["v"][0,]).tolist() == [1, 3]
    assert np.asarray(cells["v"][1,]).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("extent", "size", "bound"),
    [
        (op("+", "T", 1), 5, 4),
        (op("*", 2, "T"), 6, 3),
        (op("-", op("*", 3, "M"), 2), 10, 2),
        (op("*", 2, "T"), 5, None),
        (op("*", "T", "T"), 4, None),
        (op("//", "T", 2), 2, None),
        (op("-", 9, "T"), 4, None),
    ],
)
def test_bounds_are_read_off_sums_and_multiples(extent, size, bound):
    program = Program(
        name="p",
        bounds=(ProgramBound(name="T"), ProgramBound(name="M", value=op("+", "T", 2))),
        inputs=(ProgramInput(name="x", store="x", dims=(), dtype="f32", shape=(extent,)),),
    )
    given = Given(bounds={}, inputs=as_sources({"x": np.zeros(size, "f4")}), params={})
    if bound is None:
        with pytest.raises(RunError, match="RT510"):
            bind(program, given)
    else:
        assert bind(program, given).bounds["T"] == bound
