import io
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tempoc.base import resources
from tempoc.base.parsing import grammar, parse_tables
from tempoc.diagnostics import source as sources
from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.frontend.syntax import ast, kept_trees
from tempoc.frontend.syntax.kept_trees import standard_tree
from tempoc.frontend.syntax.load_modules import load_file, load_source, read_source, write_source


def write(folder: Path, files: dict[str, str]) -> str:
    """Write files; the path of the first."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(folder / next(iter(files)))


def refused(path: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(DiagnosticError) as caught:
        load_file(path)
    return caught.value.diagnostics


def test_files_are_found_from_the_file_that_imports_them(tmp_path: Path) -> None:
    main = write(tmp_path, {
        "main.rt": 'import "parts/a.rt" as a\nx = a.one()',
        "parts/a.rt": 'import "b.rt" as b, "../main2.rt" as m\ndef one() = b.two()',
        "parts/b.rt": "def two() = 2",
        "main2.rt": "def three() = 3",
    })  # fmt: skip
    loaded = load_file(main)
    assert loaded.main.key == "main.rt" and dict(loaded.main.imports) == {"a": "parts/a.rt"}
    assert [k for k in loaded.modules if not k.startswith("std:")] == [
        "parts/b.rt", "main2.rt", "parts/a.rt", "main.rt",
    ]  # fmt: skip
    assert loaded.modules["parts/b.rt"].source.text == "def two() = 2"


def test_a_file_is_loaded_once(tmp_path: Path) -> None:
    main = write(tmp_path, {
        "main.rt": 'import "a.rt" as a, "a.rt" as again, "b.rt" as b',
        "a.rt": "def f() = 1",
        "b.rt": 'import "./a.rt" as a',
    })  # fmt: skip
    loaded = load_file(main)
    assert loaded.main.imports["a"] == loaded.main.imports["again"] == "a.rt"
    assert loaded.modules["b.rt"].imports["a"] == "a.rt"


def test_standard_modules() -> None:
    loaded = load_source(Source("<text>", "import nn"))
    assert dict(loaded.main.imports) == {"nn": "std:nn"}
    assert loaded.modules["std:nn"].source.path == "stdlib/nn.rt"
    with pytest.raises(DiagnosticError) as caught:
        load_source(Source("<text>", "import los"))
    (error,) = caught.value.diagnostics
    assert error.code == "RT015" and error.help == "did you mean `loss`?"


def test_trees_of_standard_modules_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tree(text: str) -> ast.Module:
        standard_tree.cache_clear()
        tree, errors = standard_tree(Source("stdlib/one.rt", text))
        assert not errors.diagnostics
        return tree

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    resources.cache_folder.cache_clear()
    text = 'def one(x) = x + 1.5  # "two"\n'
    try:
        parsed = tree(text)
        (kept,) = (tmp_path / "tempoc" / "trees").iterdir()
        whole = kept.read_bytes()
        monkeypatch.setattr(kept_trees, "parse_with_recovery", lambda source: pytest.fail())
        again = tree(text)
        assert again == parsed and again is not parsed
        assert again.items[0].span.text == parsed.items[0].span.text
        monkeypatch.undo()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        for damaged in (whole[:-1], whole[:1] + whole[2:], b"", b"nothing of the kind\n"):
            kept.write_bytes(damaged)
            assert tree(text) == parsed and kept.read_bytes() == whole
        assert tree(text.replace("1.5", "2.5")) != parsed
        # Where nothing can be kept, every process parses.
        monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
        resources.cache_folder.cache_clear()
        assert tree(text) == parsed
    finally:
        resources.cache_folder.cache_clear()
        standard_tree.cache_clear()


@pytest.mark.parametrize("module", [grammar, parse_tables, sources])
def test_trees_are_kept_for_one_parser(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    name = kept_trees._parser_digest.__wrapped__
    before = name()
    monkeypatch.setattr(module, "__file__", __file__)
    assert name() != before


def test_cycles_are_shown(tmp_path: Path) -> None:
    main = write(tmp_path, {
        "a.rt": 'import "b.rt" as b',
        "b.rt": 'import "c.rt" as c',
        "c.rt": 'import "b.rt" as b',
    })  # fmt: skip
    (error,) = refused(main)
    assert error.code == "RT016" and error.primary is not None
    assert Path(error.primary.span.source.path).name == "c.rt"
    assert [Path(p).name for p in error.notes[0].split(" imports ")] == ["b.rt", "c.rt", "b.rt"]


def test_errors_of_all_files_come_together(tmp_path: Path) -> None:
    main = write(tmp_path, {
        "a.rt": 'import "b.rt" as b, "none.rt" as n\nimport "b.rt" as b2',
        "b.rt": "x = = 1",
    })  # fmt: skip
    assert [d.code for d in refused(main)] == ["RT014", "RT001"]


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"x = \xff", "RT013"), (b"x = 1\0", "RT013"), (b"\xef\xbb\xbfx = 1 2", "RT001")],
)
def test_bytes_that_are_no_program(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "m.rt"
    path.write_bytes(data)
    assert [d.code for d in refused(str(path))] == [code]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.rt", tmp_path / "none" / "x.rt"):
        (error,) = refused(str(path))
        assert error.code == "RT014" and error.primary is None


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(b"x = 1"))
    monkeypatch.setattr("sys.stdin", stdin)
    loaded = load_file("-")
    assert loaded.main.source == Source("<stdin>", "x = 1")


def test_byte_order_marks_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "m.rt"
    path.write_bytes(b"\xef\xbb\xbfx = 1")
    assert load_file(str(path)).main.source.text == "x = 1"


def test_writing_replaces_a_file_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "m.rt"
    path.write_text("x = 1")
    path.chmod(0o640)
    write_source(str(path), "x = 2\n")
    assert read_source(str(path)).text == "x = 2\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["m.rt"]


def test_writing_into_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        write_source(str(tmp_path / "none" / "m.rt"), "")
    assert caught.value.diagnostics[0].code == "RT014"
