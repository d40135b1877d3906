"""Every tuned number stands in the cost model or among the limits of searches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import pairwise
from types import EllipsisType

import pytest

from tempoc.base.cost_model import CPU, GPU, CostModel, row
from tempoc.base.effort import Effort
from tempoc.base.limits import TABLE, Limits
from tempoc.base.report_thresholds import ReportThresholds
from tempoc.base.run_costs import RunCosts
from tests.house.source import PACKAGE, files, read

HOME = (
    "tempoc/base/cost_model.py",
    "tempoc/base/effort.py",
    "tempoc/base/limits.py",
    "tempoc/base/report_thresholds.py",
    "tempoc/base/run_costs.py",
)
# Numbers that nobody tunes, and why; `...` stands for any.
FIXED: dict[str, dict[str, set[float] | EllipsisType]] = {
    "formulas": {
        "codegen/kernels/stencil_chains.py": {100},
        "driver/search/budget.py": {100},
        "footprint/compiled.py": {8},
        "memory/verify.py": {4},
        "ops/gradients/arithmetic.py": {0.5},
        "ops/gradients/elementwise.py": {-0.5, 0.5},
        "ops/gradients/factors.py": {0.5},
        "ops/random/kernel_text.py": ...,
        "ops/random/threefry.py": ...,
        "runtime/rewriting/draws.py": ...,
        "ops/tensor/arithmetic.py": {64},
        "ops/tensor/elementwise.py": {-(2.0**62), 0.5, 2.0**62},
        "passes/simplify/constant_folding.py": {2.0**-126},
        "passes/simplify/rules/arithmetic.py": {0.5, 3},
        "runtime/messages/faults.py": {2**30},
        "runtime/walk/region_calls.py": {4},
    },
    "arities, ranks, and how many there are of what is listed in place": {
        "codegen/program/lengths.py": {3},
        "codegen/regions/writer.py": {3},
        "driver/report/caches.py": {4},
        "frontend/format/expressions.py": {4, 12},
        "memory/text.py": {5},
        "runtime/report/streams.py": {3},
        "ops/control/cond.py": {3},
        "ops/control/control.py": {3},
        "ops/gradients/contraction.py": {3},
        "ops/gradients/factors.py": {-2},
        "ops/linear/attention.py": {3, 4},
        "ops/linear/fourier.py": {-2, 2},
        "ops/indexing/picked_product.py": {3},
        "runtime/rewriting/lengths/numbers.py": {16},
        "runtime/rewriting/lengths/work.py": {2},
        "ops/indexing/put.py": {3, 4},
        "ops/indexing/scatter.py": {3},
        "ops/indexing/scatter_products.py": {3},
        "ops/random/draws.py": {2},
        "ops/tensor/arithmetic.py": {2, 3},
        "ops/tensor/convolution.py": {3},
        "passes/analysis/einsum_form.py": {3},
        "sdg/text/text.py": {4},
        "symbolic/text.py": {7},
    },
    "precedences of Python": {
        "codegen/text/inline_values.py": {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 20},
    },
    "passes over the operands of an operator": {
        "ops/tensor/reduction.py": {4},
    },
    "formats of files and of numbers": {
        "files/exchange.py": {-100, 2, 0o666},
        "files/locks.py": {0o666},
        "files/standalone.py": {3, 4, 0o666},
        "frontend/syntax/load_modules.py": {0o7777},
        "frontend/syntax/stable_places.py": {4},
        "ops/definition/types.py": {4, 8},
        "passes/simplify/rules/arithmetic.py": {10, 60},
        "passes/simplify/rules/equation.py": {1e-30, 1e30},
        "passes/simplify/rules/ranges.py": {1 << 23},
        "program/nodes/nodes.py": {18},
        "runtime/checkpoint/state.py": {4, 20},
        "runtime/data/npy.py": {4, 8, 1100, 10_000},
        "runtime/data/safetensors.py": {8, 100 << 20},
        "runtime/data/shards.py": {100 << 20},
        "runtime/data/source.py": {32, 1 << 24},
        "runtime/device/alignment.py": {64},
        "runtime/device/capacity.py": {1 << 62},
        "runtime/device/stores.py": {16, 32},
        "runtime/report/streams.py": {3},
    },
    "units": {
        "codegen/kernels/vmap_batches.py": {20, 2**20},
        "driver/compilation.py": {2**20},
        "driver/report/copies.py": {1024},
        "driver/report/cost.py": {1024, 10**6, 10**9, 10**12},
        "driver/slow/words.py": {1e-6, 1e-3},
        "driver/report/memory.py": {1024},
        "passes/vectorization/vectorize.py": {20},
        "runtime/messages/units.py": {10, 60, 1000, 1024, 3600, 2**20, 2**30},
        "symbolic/amounts.py": {1024, 10**6, 10**9, 10**12},
    },
    "what no compiled program has": {
        "program/analysis/verify.py": {64},
        "schedule/clean.py": {8},
        "program/expression_json.py": {320, 1000, 4000},
    },
    "limits of the language": {
        "frontend/elaborate.py": {200, 20_000},
        "frontend/expressions/arithmetic.py": {2048},
        "frontend/fixpoint.py": {24},
        "driver/configuration.py": {16 << 20},
        "driver/kernel_table.py": {1 << 20},
        "frontend/syntax/load_modules.py": {100, 1 << 20},
        "frontend/syntax/parse.py": {200},
    },
    "which bounds fail a condition for good, in an error": {
        "frontend/domains/prove_accesses.py": {4},
        "frontend/expressions/annotations.py": {8},
    },
    "bounds at which verifiers and dry runs look, the smallest first": {
        "memory/verify.py": {2, 3, 5},
        "runtime/forecast/dry_run.py": {2, 3},
        "runtime/forecast/sample_steps.py": {3},
        "schedule/blame.py": {2, 3, 4, 5, 6},
        "schedule/verify.py": {2, 3},
        "sdg/verification/equivalence.py": {2, 3, 4, 5, 6, 7, 8},
    },
    "how far rounding may take results apart, and random conditions": {
        "runtime/data/compare.py": {2, 4, 8, 2e-2, 1e-4, 1e-9},
        "sdg/verification/equivalence.py": {1e-6, 1e-8, 0.5},
    },
    "widths, how much is listed, what counts as a misspelt name": {
        "base/doc.py": {2, 100},
        "cli/commands/help.py": {0.5},
        "cli/reports/narrow.py": {3, 12},
        "cli/reports/terminal.py": {3, 60, 100},
        "cli/reports/verify.py": {3},
        "codegen/regions/writer.py": {3},
        "codegen/text/wrap_lines.py": {100},
        "diagnostics/render.py": {4, 400, 2000},
        "driver/report/copies.py": {3},
        "driver/report/equations.py": {3, 88},
        "driver/report/equations_text.py": {6},
        "driver/report/memory.py": {4},
        "driver/report/passes.py": {8},
        "driver/search/candidates.py": {4},
        "driver/slow/cycles.py": {3},
        "driver/capture/capture.py": {3, 5},
        "driver/slow/slow.py": {3, 76, 100},
        "driver/slow/words.py": {4, 32},
        "driver/search/recording.py": {60},
        "files/locks.py": {200},
        "runtime/host/results.py": {40},
        "runtime/host/user_code.py": {3, 400, 1800},
        "frontend/environment/round.py": {4},
        "frontend/environment/scope.py": {0.7, 3, 4},
        "frontend/format/format.py": {6, 60, 100},
        "frontend/format/items.py": {4},
        "frontend/syntax/build_expressions.py": {3},
        "frontend/syntax/errors.py": {60},
        "frontend/syntax/explain_error.py": {5},
        "frontend/syntax/parse.py": {60},
        "passes/domain/reduce_domain.py": {3},
        "passes/domain/retime.py": {4},
        "passes/domain/split.py": {4},
        "passes/vectorization/embed.py": {4},
        "passes/vectorization/vectorize.py": {4},
        "program/nodes/errors.py": {60},
        "runtime/messages/run.py": {3, 8},
        "runtime/report/memory_plot.py": ...,
        "runtime/report/progress.py": {0.01, 0.2, 30},
        "runtime/report/table.py": {4},
        "sdg/evaluation/checked_values.py": {8},
        "sdg/graph/errors.py": {8, 9},
        "sdg/text/text.py": {60},
        "symbolic/amounts.py": {10},
    },
    "exit statuses": {
        "cli/reports/diagnostics.py": {2, 3, 70, 130},
        "files/interrupts.py": {130},
        "files/standalone.py": {130},
        "runtime/main.py": {70, 130},
    },
    "waiting for other processes, and how often they may come between": {
        "files/durable.py": {8},
        "files/locks.py": {0.005, 10.0},
        "files/snapshot.py": {20},
        "files/interrupts.py": {2.0},
        "files/standalone.py": {0.01, 20},
    },
    "from when on a file is worth reading it": {
        "runtime/execution/kept_kernels.py": {0.01},
    },
    "which sums XLA's library is slow at": {
        "runtime/rewriting/sums.py": {16, 4096, 131072},
    },
    "from how many texts of methods on some are left out": {
        "cli/kept_methods.py": {4096},
    },
    "from how many codes on a kernel is worth waiting for": {
        "runtime/rewriting/usual_branches.py": {256, 32768},
    },
    "how many files are synced at a time": {
        "files/parallel.py": {8},
    },
    "how much of a file is read at a time": {
        "runtime/data/source.py": {1 << 24},
    },
    "defaults of options of a run": {
        "runtime/checkpoint/suspend.py": {60.0},
    },
    "entries of memo tables": {
        "codegen/text/syntax_tree.py": {256},
        "diagnostics/source.py": {256},
        "runtime/device/backend.py": {1 << 16},
        "runtime/load/directory.py": {8},
        "runtime/load/load.py": {8},
        "symbolic/interned.py": {2**14},
    },
    "versions": {
        "cli/reports/requirements.py": {2, 3, 4, 7, 8, 11, 12, 13, 2025},
        "diagnostics/requirements.py": {2, 5, 8},
        "files/standalone.py": {11},
    },
    "names of cases": {
        "driver/options.py": {2},
        "frontend/environment/draft_node.py": {2},
        "passes/domain/index_set_split.py": {2, 3},
    },
    "more than any": {
        "offload/rewrite.py": {99},
        "passes/analysis/cost.py": {9},
    },
}
SMALL = {-1, 0, 1}
"""Numbers that say nothing; nor does 2 within functions."""
INTEGERS = {
    sign * 2**bits - less for bits in (31, 32, 63, 64) for less in (0, 1) for sign in (1, -1)
}
"""Limits of integers of the machine."""
PLAIN = SMALL | INTEGERS
CONSTANTS = ast.Constant, ast.UnaryOp, ast.BinOp
"""Expressions that may be a number."""
FUNCTIONS = ast.FunctionDef, ast.Lambda
UNITS = {1e3, 1e6, 1e9, 1e-9}
"""Floats by which times are multiplied or divided."""


def test_no_tuned_number_stands_elsewhere() -> None:
    allowed: dict[str, set[float]] = {}
    free = {name for entries in FIXED.values() for name, some in entries.items() if some is ...}
    for entries in FIXED.values():
        for name, some in entries.items():
            allowed.setdefault(name, set()).update(
                set() if isinstance(some, EllipsisType) else some
            )
    loose = {
        name: some
        for file in files()
        if file.name not in HOME and (name := file.name.removeprefix("tempoc/")) not in free
        if (some := {*numbers(file.tree)})
    }
    assert loose == {name: some for name, some in allowed.items() if name not in free}


def numbers(tree: ast.AST) -> Iterator[float]:
    """The numbers that somebody may have chosen: of modules, classes and functions, named or not.

    Inside functions 2 is none. Constant expressions count by their values.
    """
    worklist = [(tree, False)]
    while worklist:
        node, inside = worklist.pop()
        number = value(node) if isinstance(node, CONSTANTS) else None
        if number is not None:
            if number not in PLAIN and not (inside and number == 2):
                yield number
            continue
        inside = inside or isinstance(node, FUNCTIONS)
        worklist += [(operand, inside) for operand in operands(node)]


def operands(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of something in which there may be such numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return [side for side in (node.left, node.right) if not is_unit(side)]
    if isinstance(node, ast.Subscript):
        return [node.value, *(n for n in positions(node.slice) if value(n) is None)]
    return ast.iter_child_nodes(node)


def positions(node: ast.expr) -> list[ast.expr]:
    """The parts of an index or slice; constant ones are positions."""
    if not isinstance(node, ast.Slice):
        return [node]
    return [part for part in (node.lower, node.upper, node.step) if part is not None]


def is_unit(node: ast.expr) -> bool:
    """Whether an operand of a product is a unit of time in another."""
    return isinstance(node, ast.Constant) and type(node.value) is float and node.value in UNITS


def value(node: ast.AST) -> float | None:
    """The value of an expression that consists of numbers alone."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float) else None  # type: ignore[return-value]
    parts: list[ast.expr] = []
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    if not parts or any(value(part) is None for part in parts):
        return None
    result: float = eval(ast.unparse(node))
    return result


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("MANY = 64", {64}),
        ("_MANY: int = 2**6", {64}),
        ("many = 3", {3}),
        ("LEAST, MOST = 1, 8", {8}),
        ("SIZES = (1, 2, 3)", {2, 3}),
        ("TABLE = {'a': 1.5}", {1.5}),
        ("class A:\n    x: int = field(default=1 << 20)", {1 << 20}),
        ("class A:\n    x = 7", {7}),
        ("def f(n, most=9):\n    return n < 5 or n // 1000", {9, 5, 1000}),
        ("f = lambda n: n > 40", {40}),
        ("def f(n): return n + 2 - 1", set()),
        ("def f(rows): return rows[3], rows[:4], rows[n + 4]", {4}),
        ("def f(seconds): return seconds * 1e3", set()),
        ("def f(n): return n * 1000", {1000}),
        ("NONE = 0", set()),
        ("WORDS = ('a', 'b')", set()),
        ("MANY = MODEL.many", set()),
    ],
)
def test_the_check_for_numbers_can_fail(text: str, some: set[float]) -> None:
    assert {*numbers(ast.parse(text))} == some


@pytest.mark.parametrize("model", [CostModel, Effort, Limits, ReportThresholds, RunCosts])
def test_every_number_has_its_reason(model: type) -> None:
    names = {
        CostModel: "cost_model.py",
        Effort: "effort.py",
        Limits: "limits.py",
        ReportThresholds: "report_thresholds.py",
        RunCosts: "run_costs.py",
    }
    path = PACKAGE / "base" / names[model]
    classes = (n for n in read(path).tree.body if isinstance(n, ast.ClassDef))
    (body,) = (n.body for n in classes if n.name == model.__name__)
    explained = {
        before.target.id
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(after, ast.Expr)
    }
    assert explained == {*model.__annotations__}


def test_every_number_is_used() -> None:
    used = {node.attr for file in files() for node in file.nodes[ast.Attribute]}
    tuned = (CostModel, Effort, ReportThresholds, RunCosts)
    assert {name for model in tuned for name in model._fields} - used == set()


def test_every_limit_is_checked() -> None:
    named = {
        node.value for file in files() if file.name not in HOME for node in file.nodes[ast.Constant]
    }
    assert {*TABLE} - named == {"range_length"}  # it has an error of its own


def test_rows() -> None:
    assert row("cpu") is CPU and row("gpu") is GPU and row("tpu") is CPU
    assert CPU.unrolled_operators == 1000
