"""Names are never code: text from outside gets into generated Python through one module."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

import pytest

from tempoc.codegen.program.module import REGION_HELPERS, check_definitions
from tempoc.codegen.text.naming import RESERVED
from tempoc.ops.emission.prelude import HELPERS
from tempoc.program.nodes.spelling import PREAMBLE, variable
from tests.house.source import File, files, files_of

SPELLING = "tempoc/base/python_text.py"
EXECUTING = {
    "tempoc/cli/kept_methods.py",
    "tempoc/files/standalone.py",
    "tempoc/runtime/load/load.py",
    "tempoc/runtime/ready.py",
}
"""What executes text: methods of classes, the runner, the kernels, a function without a name."""
PRINTING = "tempoc/cli/reports/terminal.py"


def emitters() -> Iterator[File]:
    yield from (f for room in ("ops", "codegen") for f in files_of(room))


def test_quotes_are_put_around_text_in_one_place() -> None:
    """An f-string of another file holds no quotation marks of Python around a value."""
    places = [
        f"{file.name}:{node.lineno}"
        for file in emitters()
        for node in spelled(file)
        for before, value, after in around(node)
        if before.endswith(('"', "'")) and after.startswith(before[-1]) and not is_constant(value)
    ]
    assert places == []


def test_repr_is_no_way_to_spell_a_text() -> None:
    places = [
        f"{file.name}:{node.lineno}"
        for file in (*emitters(), *(f for f in files() if f.name == "tempoc/runtime/ready.py"))
        for node in spelled(file)
        for part in node.values
        if isinstance(part, ast.FormattedValue) and part.conversion == ord("r")
    ]
    assert places == []


def test_imports_are_spelled_in_one_place() -> None:
    places = [
        f"{file.name}:{node.lineno}"
        for file in emitters()
        for node in spelled(file)
        if re.match(r"\s*(from|import) $", next(iter(texts(node)), ""))
    ]
    assert places == []


def test_text_is_executed_in_few_places() -> None:
    calls = {
        file.name
        for file in files()
        for node in file.nodes[ast.Call]
        if isinstance(node.func, ast.Name)
        and node.func.id in ("exec", "eval", "compile", "__import__")
    }
    assert calls == EXECUTING


def test_the_compiler_prints_in_one_place() -> None:
    """There, characters that could steer a terminal become escapes."""
    places = {
        file.name
        for file in files()
        for node in file.nodes[ast.Attribute]
        if node.attr == "echo" and ast.unparse(node) == "click.echo"
    }
    assert places == {PRINTING}


def test_names_of_emitted_functions_are_reserved() -> None:
    functions = {*HELPERS, *REGION_HELPERS}
    assert functions <= {*PREAMBLE}
    assert {*PREAMBLE} - functions <= {
        "around",
        "at",
        "clamped",
        "computed_first",
        "cut_rows",
        "put_rows",
        "in_rows",
        "joined",
        "box_at",
        "ring_age",
        "ring_row",
        "with_joined_row",
        "with_ring_row",
        "jax",
        "jnp",
        "lax",
        "in_batches",
        "in_windows",
        "updated",
    }
    assert {*PREAMBLE} <= {*RESERVED}


def test_dimensions_never_hide_what_kernels_call() -> None:
    called = {
        name
        for file in emitters()
        for node in file.nodes[ast.Constant]
        if isinstance(node.value, str)
        for name in re.findall(r"(?<![\w.])(\w+)\(", node.value)
        if hasattr(builtins, name)
    }
    assert {"max", "range", "len"} <= called
    assert {n for n in (*called, *PREAMBLE) if variable(n) == n} == set()


@pytest.mark.parametrize(
    "text",
    ['"""a"""\nprint(1)', '"""a"""+f()', "x = 1", '"""a"""\nx = f()', '"""a"""\ndef f(a=g()): pass',
     '"""a"""\n@g\ndef f(): pass', '"""a"""\ndef f(): pass\ndef f(): pass'],
)  # fmt: skip
def test_a_module_that_does_more_than_define_is_never_written(text: str) -> None:
    with pytest.raises(ValueError, match="emitted"):
        check_definitions(text)


def spelled(file: File) -> Iterator[ast.JoinedStr]:
    """The f-strings of a file, but for those of messages of errors."""
    raised = {
        id_of(part)
        for node in file.nodes[ast.Raise]
        for part in ast.walk(node)
        if isinstance(part, ast.JoinedStr)
    }
    yield from (node for node in file.nodes[ast.JoinedStr] if id_of(node) not in raised)


def id_of(node: ast.JoinedStr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def texts(node: ast.JoinedStr) -> Iterator[str]:
    """The constant parts of an f-string."""
    for part in node.values:
        if isinstance(part, ast.Constant):
            yield str(part.value)


def around(node: ast.JoinedStr) -> Iterator[tuple[str, ast.expr, str]]:
    """Each value of an f-string with the constant texts before and after it."""
    parts = [
        "" if isinstance(p, ast.FormattedValue) else str(getattr(p, "value", ""))
        for p in node.values
    ]
    for k, part in enumerate(node.values):
        if isinstance(part, ast.FormattedValue):
            yield "".join(parts[k - 1 : k] if k else []), part.value, "".join(parts[k + 1 : k + 2])


def is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id.isupper()
