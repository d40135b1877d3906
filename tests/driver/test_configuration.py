"""Constants from a configuration file, and constants that are dtypes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tempoc.autodiff.differentiate import differentiate
from tempoc.cli.main import status
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.check import check_file
from tempoc.driver.compilation import Compilation
from tempoc.driver.configuration import configured
from tempoc.driver.options import Options
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.tensor.source import Literal

TEXT = """const D = 4 from "hidden_size"
const H = D // 2 from "head_dim"
const real = f32 from "torch_dtype"
const theta = 10000.0 from "rope.theta"
const tied = false from "tied"
const act = "relu" from "hidden_act"
const widths = [1, 2] from "widths"
dim l < L = 3 from "num_hidden_layers"
input x: real[D]
param w[l]: real[D, D]
y[0] = x * real(widths[0]) if act == "relu" else x
y[l] = real(theta) * (w @ y[l-1])
output y[L-1] as last
"""


def constants(config: object, tmp_path: Path, **defines: str) -> dict[str, str]:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    main = load_source(Source("m.rt", TEXT)).main.tree
    return dict(configured(Options(config=str(path), defines=defines), main).options.defines)


def test_entries_become_defines(tmp_path: Path) -> None:
    config = {
        "hidden_size": 8, "num_hidden_layers": 2, "torch_dtype": "bfloat16", "head_dim": None,
        "rope": {"theta": 500000}, "tied": True, "widths": [3, 4.5], "more": {"x": []},
    }  # fmt: skip
    assert constants(config, tmp_path) == {
        "D": "8", "real": '"bfloat16"', "theta": "500000", "tied": "true", "widths": "[3, 4.5]",
        "L": "2",
    }  # fmt: skip
    assert constants(config, tmp_path, D="16", L="1") | {"D": "", "L": ""} == {
        "real": '"bfloat16"', "theta": "500000", "tied": "true", "widths": "[3, 4.5]",
        "D": "", "L": "",
    }  # fmt: skip


def test_they_make_another_program_and_travel_with_it(tmp_path: Path) -> None:
    source, config, out = tmp_path / "m.rt", tmp_path / "config.json", str(tmp_path / "out")
    source.write_text(TEXT)
    config.write_text('{"hidden_size": 8, "torch_dtype": "bfloat16", "rope": {"theta": 5}}')
    compilation = Compilation.from_path(str(source), Options(config=str(config)))
    types = {name: node.types[0] for name, node in compilation.graph.nodes.items()}
    assert (types["x"].dtype.value, types["x"].shape[0].value) == ("bf16", 8)
    # A float stays one, although the file says 5.
    literals = [n.op.value for n in compilation.graph.nodes.values() if isinstance(n.op, Literal)]
    assert [value for value in literals if value == 5] == [5.0]
    assert all(isinstance(value, float) for value in literals if value == 5)
    assert status(["compile", str(source), "-o", out, "--config", str(config)]) == 0
    config.unlink()
    assert Compilation.from_directory(out).graph == compilation.graph


def test_what_the_configuration_lacks_is_said(tmp_path: Path) -> None:
    source, config = tmp_path / "m.rt", tmp_path / "config.json"
    source.write_text(TEXT)
    config.write_text('{"hidden_size": 8, "head_dim": null}')
    notes = check_file(
        str(source), Options(config=str(config), defines={"L": "2"}), differentiate
    ).notes
    names = ["head_dim", "torch_dtype", "rope.theta", "tied", "hidden_act", "widths"]
    assert [note.split()[3].rstrip(":") for note in notes] == names


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ("[" * 100_000, "it is not JSON"),
        ('{"hidden_size": {"x": 1}}', "hidden_size of .* is neither a number nor"),
        ('{"widths": [[{}]]}', "widths of .* is neither a number nor"),
        ('{"hidden_size": "wide"}', "`D` is a number"),
        ('{"num_hidden_layers": 2.5}', "RT032: `L` is an integer of at least 1, not 2.5"),
        ('{"num_hidden_layers": 0}', "RT"),
        ('{"torch_dtype": "int3"}', "`real` is a dtype"),
        ('{"tied": 1}', "`tied` is a bool"),
        ('{"hidden_act": 3}', "RT032: `act` is a string, not 3"),
        ('{"rope": {"theta": 1e999}}', "neither a number nor"),
        ('{"hidden_size": 4, "hidden_size": 5}', 'RT054: .* it names "hidden_size" twice'),
        ('{"rope": {"theta": 1.0, "x": 2, "theta": 1.0}}', 'it names "theta" twice'),
        ('{"hidden_size": 4, "": 5, "": 6}', 'it names "" twice'),
    ],
)
def test_what_is_no_configuration(config: str, message: str, tmp_path: Path) -> None:
    source, path = tmp_path / "m.rt", tmp_path / "config.json"
    source.write_text(TEXT)
    path.write_text(config)
    with pytest.raises(DiagnosticError, match=message):
        check_file(str(source), Options(config=str(path)), differentiate)


@pytest.mark.parametrize(
    ("entry", "value"), [("hidden_size", -3), ("num_hidden_layers", 0), ("num_hidden_layers", "x")]
)
def test_errors_in_what_it_gives_name_it(entry: str, value: object, tmp_path: Path) -> None:
    """Not what `-D` gives instead, nor errors elsewhere."""
    source, path = tmp_path / "m.rt", tmp_path / "c.json"
    source.write_text(TEXT)
    path.write_text(json.dumps({entry: value}))
    note = (f"`{entry}` of {path} is {json.dumps(value)}",)

    def notes(**defines: str) -> list[tuple[str, ...]]:
        options = Options(config=str(path), defines=defines)
        errors = []
        for make in (
            lambda: check_file(str(source), options, differentiate),
            lambda: Compilation.from_path(str(source), options).graph,
        ):
            with pytest.raises(DiagnosticError) as error:
                make()
            errors += error.value.diagnostics
        return [d.notes for d in errors]

    assert notes() == [note, note]
    name = {"hidden_size": "D"}.get(entry, "L")
    assert notes(**{name: json.dumps(value)}) == [(), ()]
    source.write_text(TEXT + "z = y[l-1]\n")
    path.write_text('{"hidden_size": 4}')
    assert notes() == [(), ()]


def test_a_program_that_takes_nothing_from_it(tmp_path: Path) -> None:
    source = tmp_path / "m.rt"
    source.write_text("const D = 4\noutput x\nx = zeros([D])")
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(DiagnosticError, match="RT054"):
        check_file(str(source), Options(config=str(tmp_path / "c.json")), differentiate)
    with pytest.raises(DiagnosticError, match="RT054"):
        check_file(str(source), Options(config=str(tmp_path / "none.json")), differentiate)


def test_the_format_keeps_entries() -> None:
    text = 'dim t < T = 3 from "n" until stop\nconst D = 4 from "d"\n'
    assert format_module(load_source(Source("m.rt", text)).main.tree) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("const F = f32\nx = zeros([2]) as F[2]\noutput x", ""),
        ("const F = i32\nx = zeros([2]) as F[2]\noutput x", "RT079"),
        ("const F = 3\nx = zeros([2]) as F[2]\noutput x", "RT067"),
        ("const F = key\nx = zeros([2])\noutput x", "RT"),
        ("x = zeros([2]) as G[2]\noutput x", "RT012"),
        ("const F = exp\nx = zeros([2]) as F[2]\noutput x", "RT028"),
    ],
)
def test_dtypes_by_name(text: str, code: str, tmp_path: Path) -> None:
    source = tmp_path / "m.rt"
    source.write_text(text)
    if not code:
        check_file(str(source), Options(), differentiate)
        return
    with pytest.raises(DiagnosticError) as raised:
        check_file(str(source), Options(), differentiate)
    assert code in str(raised.value)
