"""A slice of what `make fuzz` does, and the tools of it: generator, reducer, neutral changes."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.ops.tensor.elementwise import Cos, Sin
from tempoc.sdg.graph.graph import Graph
from tests.fuzz.campaign import Case, case_of, plan_of, sent
from tests.fuzz.check import DiffersError, Plan, Reference, Verdict, compare, data, examine
from tests.fuzz.generate import program
from tests.fuzz.mutants import free_bounds, originals, program as mutant
from tests.fuzz.neutral import CHANGES, SAME_MEMORY, Original
from tests.fuzz.reduce import reduced
from tests.support.elaborated import graph_of
from tests.support.examples import ROOT
from tests.support.session.long import examples, in_turns, sampled

SEED = 1
MUTANTS = range(10)
FEATURES = [
    feature
    for line in (
        "decoder|filter and smoother|layers of attention|list state|param with a default",
        "path traced back|several targets",
        "a if c else b|as|assume|associative_scan|attention|blocks|bools|broadcast|cast",
        "chunks hand on a state|cond|contraction|creation|data-dependent access|derived bound",
        "elementwise|fixed bound|force at the next place|function|function with a state",
        "grad|gradient of a gradient",
        "guard with two dims|guarded equation|h[t+1] = f(h)|h[T-1] = ..; h[t] = f(h[t+1])",
        "h[t] = f(h[t-1])|indexing|integers|layers feed the next step|layout|mutual group",
        "nested iteration|nested steps|output of a part|part slice|prefix slice|print",
        "print of a text|print when the data say so",
        "layers between neighbours",
        "ragged tensor with a name|random|record state|record state from episode to episode|save",
        "reduction|reduction in time|scan|reduction of a whole dimension|shared bound",
        "shifted read|side by side|state reads its past|state: reset|state: strided",
        "state with further equations|state with outer dims|stdlib|strided branches",
        "strided slice|suffix slice|table|training loop|triangle|unindexed equation|until",
        "iteration with a length|iteration with a length for each point",
        "iteration within an iteration|iterations hand on a state",
        "selection: filter|selection: nonzero|selection: unique|sum of gathered rows",
        "when t >= 1|where|window slice|x[t] = c when t < 2; x[t+1] = n",
    )
    for feature in line.split("|")
]
"""What a few hundred programs have between them."""


def test_programs_cover_the_language() -> None:
    count: Counter[str] = Counter()
    for number in range(400):
        count.update(program(SEED, number).features)
    assert [f for f in FEATURES if count[f] < 2] == []


def test_most_programs_are_accepted() -> None:
    refused: Counter[str] = Counter()
    for number in range(examples(24, long=36)):
        try:
            graph_of(program(SEED, number).text)
        except DiagnosticError as error:
            refused[error.diagnostics[0].code] += 1
    assert refused.total() < examples(4, long=6), refused


def test_programs_are_the_same_in_another_process() -> None:
    script = (
        "import hashlib; from tests.fuzz.generate import program; "
        f"print(hashlib.md5(repr([program({SEED}, k) for k in range(40)]).encode()).hexdigest())"
    )
    here = repr([program(SEED, k) for k in range(40)]).encode()
    command = [sys.executable, "-c", script]
    there = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert there.stdout.strip() == hashlib.md5(here).hexdigest()


@pytest.mark.parametrize("start", sampled(range(0, 36, 12), "more random programs", of=3))
def test_passes_keep_what_programs_mean(start: int) -> None:
    failed = []
    for number in range(start, start + examples(2, long=12)):
        verdict = case_of(SEED, number, tier=0, minutes=0).verdict
        failed += [(number, verdict.kind, verdict.detail)] if verdict.failed else []
    assert failed == []


def test_compiled_programs_agree() -> None:
    failed = []
    for number in range(100, 100 + examples(2, long=12)):
        verdict = case_of(SEED, number, tier=1, minutes=0).verdict
        failed += [(number, verdict.kind, verdict.detail)] if verdict.failed else []
    assert failed == []


def test_what_became_of_a_program_goes_to_another_process() -> None:
    made = program(SEED, 0)
    verdict = Verdict(kind="agreed", plan=plan_of(SEED, 0, made))
    case = Case(number=0, program=made, verdict=verdict, seconds=0.0, text=made.text)
    assert pickle.loads(pickle.dumps(sent(case))).verdict == verdict


def is_refused(original: Original) -> bool:
    try:
        _ = original.compilation(original.text).graph
    except DiagnosticError:
        return True
    return False


@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_mean_nothing(change: str) -> None:
    done = 0
    for number in range(200, 200 + examples(2, long=14)):
        made = program(SEED, number)
        changed = CHANGES[change](made.text, Random(number))
        if changed is None or made.special:
            continue
        original = Original(made.text, Options(), made.bounds[1])
        if is_refused(original):
            continue
        # In nested steps the order of equations may decide between a slot and a ring of two.
        same_memory = change in SAME_MEMORY and "nested steps" not in made.features
        try:
            original.check(changed, same_memory=same_memory)
        except DiagnosticError as error:
            # Bounds that the program fixes leave no point to one half of an equation; a name has
            # a type of its own where literals in its place had none.
            assert error.diagnostics[0].code in ("RT080", "RT139"), (number, str(error))
            continue
        done += 1
    assert done >= examples(1, long=3)


EXAMPLES = ("02_moving_average", "05_rnn", "08_windowed_attention", "09_edit_distance", "15_s5")
BOUNDS = {"T": 5, "B": 2, "N": 4, "M": 3}


@pytest.mark.parametrize(("name", "change"), in_turns(EXAMPLES, SAME_MEMORY, "all pairs"))
def test_examples_under_other_names_and_in_another_order(name: str, change: str) -> None:
    text = (ROOT / "examples" / f"{name}.rt").read_text()
    changed = CHANGES[change](text, Random(name))
    if changed is None:
        pytest.skip("its weights have names in a file")
    own = {b.name for b in graph_of(text).universe.bounds if b.value is None}
    bounds = {b: BOUNDS[b] for b in sorted(own)}
    Original(text, Options(), bounds).check(changed, same_memory=True)


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the optimizer take `cos` for `sin`."""

    def mistaken(compilation: Compilation) -> Graph:
        graph = compilation.ordered.graph
        wrong = {
            name: replace(node, op=Sin()) if isinstance(node.op, Cos) else node
            for name, node in graph.nodes.items()
        }
        return replace(graph, nodes=wrong)

    monkeypatch.setattr(Compilation, "optimized", property(mistaken))


def test_a_planted_mistake_is_found_and_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    plan = Plan(options=Options(), bounds=({"T": 3},))
    for number in range(400):
        made = program(SEED, number)
        if "cos(" not in made.text or len(made.text.splitlines()) > 20:
            continue  # larger ones are reduced in the same way, for longer
        verdict = examine(made.text, Plan(options=plan.options, bounds=made.bounds))
        if verdict.failed and verdict.kind == "differs: passes":
            text, smaller = reduced(made.text, verdict, 600.0)
            lines = [line for line in text.splitlines() if line.strip()]
            assert smaller.kind == verdict.kind
            assert "cos" in text and len(lines) <= 6, text
            return
    raise AssertionError("not found")


def test_what_cancelling_terms_leave_is_no_difference() -> None:
    """It is another rounding with other last bits of the data, unlike a number that is wrong."""
    graph = graph_of("input x: f32\noutput y\ny = 0.5 * (x - x)\n")
    known = Reference(graph, {}, data(graph, {}, False))
    assert known.moved(1e-14)["x"] != known.given["x"]
    left = {"y": np.array(3e-8)}
    compare(left, known.wide, known, wide=True, again=lambda: {"y": np.array(-1e-8)})
    for again in (None, lambda: {"y": np.array(3.001e-8)}):
        with pytest.raises(DiffersError, match="is 3e-08, not 0"):
            compare(left, known.wide, known, wide=True, again=again)


def test_mutants_agree_or_are_refused() -> None:
    """By the compiler, or, for their data, by the evaluator as well ("run refused")."""
    kinds = Counter(case_of(0, k, maker="mutants", tier=0, minutes=0).verdict.kind for k in MUTANTS)
    firsts = {kind.split()[0] for kind in kinds}
    assert {"agreed", "refused"} <= firsts <= {"agreed", "refused", "run"}, kinds


def test_mutants_are_other_programs_again_and_again() -> None:
    texts = [mutant(1, number).text for number in range(60)]
    assert texts == [mutant(1, number).text for number in range(60)]
    assert len({*texts} - {*originals()}) > 45
    assert free_bounds("dim t < T\ndim l < L = 3\ndim s < T\n") == ["T"]
