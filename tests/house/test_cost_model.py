"""Every tuned number stands in the cost model or among the limits of searches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise

import pytest

from tempoc.base.cost_model import CPU, GPU, CostModel, row
from tempoc.base.effort import Effort
from tests.house.source import PACKAGE, files, read

HOME = ("tempoc/base/cost_model.py", "tempoc/base/effort.py")
# Numbers that nobody tunes, and why.
FIXED = {
    "formats and algorithms": {
        "driver/search/recording.py": {"LONG"},
        "ops/random/threefry.py": {"CENTRE", "TAIL", "UNIT", "_ROTATIONS"},
    },
    "limits of the language": {
        "frontend/calls/builtin_tensors.py": {"MAX_RANGE"},
        "frontend/declarations/dimensions.py": {"LIMIT"},
        "frontend/elaborate.py": {"MAX_ACTIVE", "STACK"},
        "frontend/environment/round.py": {"MAX_CALLS"},
        "frontend/fixpoint.py": {"MAX_ROUNDS"},
        "frontend/syntax/parse.py": {"MAX_DEPTH"},
        "frontend/syntax/load_modules.py": {"MAX_IMPORTS_DEEP", "MAX_SOURCE_BYTES"},
        "ops/tensor/arithmetic.py": {"SIX_BITS"},
        "passes/simplify/constant_folding.py": {"_LIMIT"},
    },
    "which bounds fail a condition for good, in an error": {
        "frontend/domains/prove_accesses.py": {"FEW"},
        "frontend/expressions/annotations.py": {"PLENTY"},
    },
    "bounds at which verifiers look, the smallest first": {
        "memory/verify.py": {"SMALL"},
        "schedule/blame.py": {"SIZES"},
        "schedule/verify.py": {"SIZES"},
        "sdg/verification/equivalence.py": {"SIZES"},
    },
    "widths, and how much is listed": {
        "cli/reports/narrow.py": {"_BEFORE"},
        "cli/reports/verify.py": {"MOST"},
        "codegen/text/inline_values.py": {"_TIGHT"},
        "codegen/text/wrap_lines.py": {"WIDTH"},
        "driver/report/equations.py": {"WIDEST"},
        "driver/report/equations_text.py": {"MOST"},
        "driver/report/passes.py": {"GONE"},
        "driver/search/candidates.py": {"_SHOWN"},
        "frontend/environment/round.py": {"MAX_SITES"},
        "frontend/format/format.py": {"ALIGNED", "WIDTH"},
        "frontend/format/items.py": {"_CONTINUED"},
        "frontend/syntax/explain_error.py": {"_LISTABLE"},
        "frontend/syntax/errors.py": {"_SHOWN"},
        "diagnostics/render.py": {"LONGEST", "WIDEST"},
        "sdg/text/text.py": {"WIDEST"},
        "symbolic/simplify.py": {"LEAST"},
    },
    "exit statuses": {
        "cli/reports/diagnostics.py": {"BUG", "CHECK_FAILED", "INTERRUPTED", "WRONG_COMMAND_LINE"},
    },
    "the process: memo tables, garbage collection": {
        "symbolic/interned.py": {"MEMORY"},
        "cli/main.py": {"_COLLECT"},
    },
    "names of cases": {
        "frontend/environment/draft_node.py": {"SHAPE"},
        "offload/rewrite.py": {"FAR"},
        "passes/domain/index_set_split.py": {"_ALL"},
    },
}
# These are shipped with every program and know nothing of the compiler.
SHIPPED = ("files", "program", "runtime")


def test_no_tuned_number_stands_elsewhere() -> None:
    loose = {
        file.name.removeprefix("tempoc/"): names
        for file in files()
        if file.room not in SHIPPED and file.name not in HOME
        if (names := {*numbers(file.tree)})
    }
    allowed: dict[str, set[str]] = {}
    for entries in FIXED.values():
        for name, names in entries.items():
            allowed.setdefault(name, set()).update(names)
    assert loose == allowed


def numbers(tree: ast.Module) -> Iterator[str]:
    """The constants of a module that are numbers from 2 on or fractions, and such defaults."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "field":
            defaults = [k.value for k in node.keywords if k.arg == "default"]
            yield from (f"line {node.lineno}" for value in defaults if is_tuned(value))
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = [*zip(target.elts, node.value.elts, strict=True)]
        for name, value in pairs:
            if isinstance(name, ast.Name) and name.id.isupper() and is_tuned(value):
                yield name.id


def is_tuned(value: ast.expr) -> bool:
    """Whether an expression is a number (or several) other than -1, 0 and 1."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    literal = [p for p in parts if is_number(p)]
    return (
        bool(literal)
        and len(literal) == len(parts)
        and any(ast.unparse(p) not in ("-1", "0", "1") for p in literal)
    )


def is_number(value: ast.expr) -> bool:
    """Whether an expression consists of numbers alone."""
    leaves = [n for n in ast.walk(value) if isinstance(n, ast.Constant | ast.Name | ast.Call)]
    return bool(leaves) and all(
        isinstance(n, ast.Constant) and type(n.value) in (int, float) for n in leaves
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("MANY = 64", {"MANY"}),
        ("_MANY: int = 2**6", {"_MANY"}),
        ("LEAST, MOST = 1, 8", {"MOST"}),
        ("SIZES = (1, 2, 3)", {"SIZES"}),
        ("class A:\n    x: int = field(default=1 << 20)", {"line 2"}),
        ("NONE = 0", set()),
        ("WORDS = ('a', 'b')", set()),
        ("MANY = MODEL.many", set()),
    ],
)
def test_the_check_for_numbers_can_fail(text: str, names: set[str]) -> None:
    assert {*numbers(ast.parse(text))} == names


@pytest.mark.parametrize("model", [CostModel, Effort])
def test_every_number_has_its_reason(model: type) -> None:
    path = PACKAGE / "base" / ("effort.py" if model is Effort else "cost_model.py")
    (body,) = (n.body for n in read(path).tree.body if isinstance(n, ast.ClassDef))
    explained = {
        before.target.id
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(after, ast.Expr)
    }
    assert explained == {f.name for f in fields(model)}


def test_every_number_is_used() -> None:
    used = {
        node.attr
        for file in files()
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Attribute)
    }
    assert {f.name for m in (CostModel, Effort) for f in fields(m)} - used == set()


def test_rows() -> None:
    assert row("cpu") is CPU and row("gpu") is GPU and row("tpu") is CPU
    assert CPU.unrolled_operators == 1000
