from __future__ import annotations

import json

import pytest

from tempoc.program.analysis.verify import verify
from tempoc.program.codec import dump, load, sealed
from tempoc.program.nodes.errors import ProgramError
from tests.runtime.programs import FIBONACCI, RNN, SUMS

PROGRAMS = [FIBONACCI, RNN, SUMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_programs_come_back(program):
    text = dump(program)
    assert load(text) == program
    assert dump(load(text)) == text
    verify(program)


def edited(path, value):
    """The sums program with one field replaced, or removed (``...``)."""
    data = json.loads(dump(SUMS))
    at = data
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    data.pop("seal")
    return sealed(data)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["version"], 99, "format version 99, the runner reads version 18"),
        (["version"], ..., "not a compiled program"),
        (["name"], ..., "program lacks name"),
        (["colour"], "red", "program has unknown colour"),
        (["x64"], 1, "program.x64 should be true or false, not 1"),
        (["kernels", 0, "donated", 0], True, "program.kernels[0].donated[0] should be an integer"),
        (["stores", 1, "axes", 0, "size"], ["^", 1], "stores[1].axes[0].size should be an express"),
        (["stores"], {}, "program.stores should be a list"),
        (["tree", "node"], "Jump", "program.tree should be a Sequence or a Loop"),
        (["tree", "body"], 3, "program.tree.body"),
        (["outputs", 0, "entries", 0], None, "an expression or a OutputSpan"),
        (["dims", 0], ["t"], "program.dims[0] should be a list of 2"),
        (["tree", "step"], 1.5, "an integer, not 1.5"),
        (["tree", "step"], float("nan"), "an integer, not nan"),
        (["tree", "step"], 2**63, "an integer of 64 bits"),
        (["tree", "upper"], ["//", "N", 0], "program.tree.upper should be an expression"),
        (["tree", "upper"], ["%", "N", -1], "program.tree.upper should be an expression"),
        (["tree", "upper"], ["*", *[["+", "N", "B"]] * 40], "should be an expression"),
        (["tree", "upper"], ["+", *["N"] * 5000], "should be an expression"),
        (["name"], ["x"] * 10**6, "program.name should be a string, not ['x', 'x'"),
    ],
)
def test_damage_is_named(path, value, words):
    with pytest.raises(ProgramError) as error:
        load(edited(path, value))
    assert words in str(error.value)


def test_what_was_changed_is_refused():
    text = dump(SUMS)
    for changed in (
        text.replace('"sums"', '"summed"'),
        text.rstrip(),
        text.replace("seal", "sail"),
    ):
        with pytest.raises(ProgramError, match="changed after it was compiled"):
            load(changed)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"a": 1}', "[" * 100_000])
def test_other_text_is_no_program(text):
    with pytest.raises(ProgramError):
        load(text)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["tree", "upper"], "Z", "there is no Z"),
        (["tree", "var"], "T", "hides another"),
        (["tree", "step"], 0, "would never end"),
        (["tree", "body", "body", "body", "kernel"], "nope", "there is no such kernel"),
        (["tree", "body", "body", "body", "point"], ["b"], "has 2 dimensions"),
        (["tree", "body", "body", "body", "args", 0, "key"], [], "has 1 keys, not 0"),
        (["tree", "body", "body", "body", "args", 0, "store"], "q", "there is no store q"),
        (["tree", "body", "body", "body", "results", 0, "store"], "x", "writes the input x"),
        (["kernels", 0, "donated"], [1], "gives x away"),
        (["kernels", 0, "donated"], [7], "has no argument 7"),
        (["kernels", 0, "bounds"], ["Q"], "no bound Q"),
        (["outputs", 0, "store"], "q", "there is no store q"),
        (["outputs", 0, "entries"], [0], "one entry for each dimension"),
        (["inputs", 0, "dtype"], "f32", "its store holds i32"),
        (["stores", 1, "dtype"], "f31", "f31 is no dtype"),
        (["dims", 0, 1], "Q", "there is no bound Q"),
        (["bounds", 0, "value"], ["+", "N", 1], "circle"),
        (["bounds", 0, "name"], "B", "declared twice"),
        (["bounds", 0, "name"], "a b", "is no name"),
        (["dims"], [["t", "N"], ["t", "N"]], "declared twice"),
        (["kernels", 0, "donated"], [0, 0], "declared twice"),
        (["kernels", 0, "donated"], [-1], "gives away what it does not have"),
        (["kernels", 0, "dims"], ["q"], "there is no dimension q"),
        (["outputs", 0, "name"], "../x", "has no file's name"),
        (["outputs", 0, "name"], "x\0", "has no file's name"),
        (["outputs", 0, "entries", 0, "step"], 0, "step 0 of a slice"),
        (["inputs", 0, "shape"], [3], "another rank"),
        (["files"], [["../x.py", ""]], "is not below the program"),
        (["files"], [["/x.py", ""]], "is not below the program"),
        (["variants"], [{"name": "../x", "about": "", "upto": []}], "this program is none of them"),
        (["seed"], "q", "is no store for it"),
    ],
)
def test_contradictions_are_named(path, value, words):
    with pytest.raises(ProgramError) as error:
        verify(load(edited(path, value)))
    assert words in str(error.value)


def test_names_may_be_long():
    verify(load(edited(["outputs", 0, "name"], "x" * 300)))


def nested(depth):
    tree = {"node": "Sequence", "items": []}
    for _ in range(depth):
        tree = {"node": "Guard", "condition": ["and"], "body": tree}
    return edited(["tree"], tree)


@pytest.mark.parametrize("depth", [63, 64, 150])
def test_statements_are_not_nested_too_deeply(depth):
    program = load(nested(depth))
    if depth < 64:
        verify(program)
    else:
        with pytest.raises(ProgramError, match="nested too deeply"):
            verify(program)


@pytest.mark.parametrize("depth", [20, 90, 200])
def test_expressions_are_not_nested_too_deeply(depth):
    upper = "N"
    for k in range(depth):
        upper = ["//", ["+", upper, 1], 2 + k]
    text = edited(["tree", "upper"], upper)
    if depth < 320 // 2:
        load(text)
    else:
        with pytest.raises(ProgramError, match="should be an expression"):
            load(text)
