"""Plans with one thing wrong are noticed by the verifier, or are right after all: runs tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.memory.plan_types import MemoryPlan
from tempoc.memory.proof import Prover
from tempoc.memory.verify import verify
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import LoadedProgram, namespace
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic.text import show
from tests.support.agreement import data, free_bounds
from tests.support.examples import EXAMPLES
from tests.support.mutants import Mutant, mutants
from tests.support.session.long import ends, in_share, in_turns, sampled

RING = """dim t < T
input x[t]: f32[3]
h[0] = x[0]
h[t] = tanh(mean(h[max(0, t-9):t], axis = 0) + x[t])
print h[t] when t % 6 == 1
output h[T-1] as h
"""
GROWING = """import nn
dim t < T
input x[t]: f32[4]
k[0] = x[0]
k[t] = tanh(y[t-1] + x[t])
y[t] = nn.softmax(k[0:t+1] @ x[t]) @ k[0:t+1]
output y
"""
LAYERS = """dim i < I
dim l < L
input x[i]: f32[4]
param w[l]: f32[4, 4] = ones([4, 4]) * 0.25
h[i, 0] = x[i]
h[i, l] = tanh(h[i, l-1] @ w[l]) + state[i, l-1]
state[0, l] = zeros([4])
state[i, l] = state[i-1, l] * 0.5 + h[i-1, l]
output h[i, L-1] as y
"""
BACK = """dim t < T
input x[t]: f32[4]
input w0: f32[4, 4]
w[0] = w0
w[t+1] = w[t] - 0.1 * grad(loss, w)
loss[t] = sum(tanh(w[t] @ x[t]) ** 2)
late[t] = loss[T-1-t] + (x[t])[t % 4]
output loss, late
"""
ALTERNATING = """dim t < T
dim l < L
input x0: f32[3]
h[0, 0] = x0
h[t, 0] = tanh(y[t-1, L-1])
h[t, l+1] = y
a[t, l] = max(h[t = 0:t+1], axis = 0) when l % 3 == 1
a[t, l] = h
y = tanh(h + a)
output y[T-1, L-1] as y
"""
UNTIL = """dim t < T until stop
input c0: i32
c[0] = c0
c[t+1] = where(c[t] % 2 == 0, c[t] // 2, 3 * c[t] + 1)
stop[t] = c[t] == 1
big[t] = max(c[0:t+1])
output c, big[T-1] as big
"""
MICROBATCHES = """dim t < T
dim b < B
input x[b]: f32[2]
input w: f32[128, 2]
input u: f32[2, 128]
o[0, b] = x[b]
o[t+1, b] = stop_gradient(u @ h) * f32(random.categorical(u @ h))
h = tanh(w @ o)
v = u @ tanh(w @ (o + 1.0))
error = u @ h - (v - mean(v[t = 0:T, b = 0:B]))
loss = mean((error * error)[t = 0:T, b = 0:B])
dw = grad(loss, w)
output loss, dw
"""
TEXTS = {"ring": RING, "growing": GROWING, "layers": LAYERS, "back": BACK, "until": UNTIL}
SIZES = (1, 4, 13)


Data = tuple[dict[str, int], dict[str, HostArray], dict[str, HostArray]]


class Mutated:
    """A program whose memory plan can be another one; ``runs`` are bounds and data to run it on."""

    def __init__(self, source: Source, level: int, runs: Callable[[Graph], list[Data]]) -> None:
        self.loaded = load_source(source)
        self.options = Options(level=level, bucket=2)
        self.good = Compilation(self.loaded, self.options)
        self.runs = runs(self.good.graph)
        parts = self.good.optimized.outputs, self.good.space_of(self.good.optimized)
        self.rest = self.good.statements, self.good.scheduled, *parts

    def run(self, plan: MemoryPlan) -> Iterator[Mapping[str, HostArray]]:
        """What runs with a plan give; in every second one bytes are counted."""
        other = Compilation(self.loaded, self.options)
        other.__dict__ |= {"passes": self.good.passes, "ordered": self.good.ordered, "plan": plan}
        emitted = other.emitted
        scope = namespace(emitted.kernels, "kernels.py")
        functions = tuple(scope[k.name] for k in emitted.program.kernels)
        loaded = LoadedProgram(program=emitted.program, functions=functions)
        for number, (bounds, inputs, params) in enumerate(self.runs):
            some = as_sources(inputs), as_sources(params)
            given = Given(bounds=bounds, inputs=some[0], params=some[1])
            shown = Settings(account=number % 2 == 1, show=lambda *effect: None)
            yield run_given(loaded, given, shown).outputs

    def noticed(self, plan: MemoryPlan) -> bool:
        """Whether the verifier says that a plan is wrong."""
        try:
            verify(plan, *self.rest)
        except DiagnosticError as error:
            assert error.diagnostics[0].code == "RT450"
            return True
        return False

    def check(self) -> None:
        """Plans that are not noticed do what the good one does; `make test` makes half of all."""
        assert not self.noticed(self.good.plan)
        every = mutants(self.good.plan, self.good.statements)
        found = [mutant for mutant in every if in_share(mutant[0], of=2)]
        kept = [(what, plan) for what, plan in found if not self.noticed(plan)]
        assert len(kept) < len(found) / 2
        self.check_proofs(found, kept)
        wanted = [*self.run(self.good.plan)]
        for what, plan in kept:
            for there, right in zip(self.run(plan), wanted, strict=True):
                for output, value in right.items():
                    np.testing.assert_allclose(there[output], value, rtol=1e-4, err_msg=what)

    def check_proofs(self, found: list[Mutant], kept: list[Mutant]) -> None:
        """No plan that is wrong is proved, and hardly any other one is not."""
        statements, scheduled, outputs, space = self.rest
        prover = Prover(statements, scheduled.tree, outputs, space.universe)
        assert prover.prove(self.good.plan).is_whole
        right = [what for what, _ in kept]
        for what, plan in found:
            proof = prover.prove(plan)
            # What others grew for a statement is not counted as its own.
            late = any(reason.endswith("rows than there are") for reason in proof.unproved.values())
            assert proof.is_whole == (what in right) or late, what


@pytest.mark.parametrize(("name", "level"), in_turns(TEXTS, (2, 0), "both levels"))
def test_what_is_not_noticed_is_right(name: str, level: int) -> None:
    def runs(graph: Graph) -> list[Data]:
        sizes = (dict.fromkeys(free_bounds(TEXTS[name]), n) for n in ends(SIZES))
        return [(bounds, data(graph, bounds, False), {}) for bounds in sizes]

    Mutated(Source("m.rt", TEXTS[name]), level, runs).check()


def test_slots_for_some_points_only() -> None:
    mutated = Mutated(Source("m.rt", ALTERNATING), 2, lambda graph: [])
    found = [x for x in mutants(mutated.good.plan, mutated.good.statements) if "along l" in x[0]]
    (axis,) = (axis for store in mutated.good.plan.stores.values() for axis in store.axes)
    assert (axis.every, show(axis.size)) == (3, "(L+1)//3")
    assert len(found) == 3 and all(mutated.noticed(plan) for _, plan in found)
    mutated.check_proofs(found, [])


@pytest.mark.long("a large plan; test_microbatch runs small ones")
def test_microbatches_too() -> None:
    def runs(graph: Graph) -> list[Data]:
        bounds = {"T": 5, "B": 2}
        return [(bounds, data(graph, bounds, False), {})]

    mutated = Mutated(Source("m.rt", MICROBATCHES), 2, runs)
    assert "tile" in {d.name for d in mutated.good.optimized.universe.dims}
    mutated.check()


@pytest.mark.parametrize("number", sampled(["01", "02", "04", "08", "10"], "more examples", of=2))
def test_of_examples_too(number: str) -> None:
    example = next(e for e in EXAMPLES if e.name.startswith(number))

    def runs(graph: Graph) -> list[Data]:
        found = (example.data(n) for n in (1, 6))
        return [({n: b[n] for n in example.given}, inputs, params) for b, inputs, params in found]

    Mutated(Source(str(example.source), example.source.read_text()), 2, runs).check()
