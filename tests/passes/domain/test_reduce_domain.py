"""Smaller domains: what is computed once, what nobody asks for, and what has to stay."""

from __future__ import annotations

import pytest
from hypothesis import given, note, strategies as st

from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.build import statements
from tempoc.sdg.verification.verify import verify
from tempoc.symbolic.parse import parse_expr
from tests.passes.test_generated import assert_written_once
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.generators.programs import Draw, Program, Writer, access, begin, bound
from tests.support.generators.settings import generated
from tests.support.golden import Golden

HEAD = """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(3,)} : [b] f32[3]
%z = input{dtype=f32} : [t] f32
%w = param{template="w", dtype=f32, shape=(3, 3)} : [] f32[3, 3]
"""
CALL = 'extern="f", module="m", function="f", arguments=("f32[3]",), results=("f32[3]",)'
CASES = {
    "a chain": """
%m = matmul %w, %x : [b, t] f32[3]
%h = tanh %m : [b, t] f32[3]
%s = mul %h, %z : [b, t] f32[3]
output s = %s[0:B, 0:T]
""",
    "only some of the points": """
%m = matmul %w, %x : [b, t | t >= b] f32[3]
%s = mul %m, %z : [b, t | t >= b] f32[3]
%u = sum %s[0:T+0*B, t] : [t | B == T and t == T-1] f32
%v = copy %s[0, 0:T] : [] f32[T, 3]
output v = %v
""",
    "what a triangle needs": """
%m = mul %x, %z : [b, t] f32[3]
%h = tanh %m : [b, t | t <= b] f32[3]
%y = sum{axes=(0,)} %h[b, 0:min(b+1, T)] : [b] f32[3]
output y = %y[0:B]
""",
    "work is done once, what is wanted at each point is copied": """
%m = matmul %w, %x : [b, t] f32[3]
%s = sum{axes=(0,)} %m[b, 0:t+1] : [b, t] f32[3]
output m = %m[0:B, 0:T]
output s = %s[0:B, 0:T]
""",
    "a recurrence along one of two dimensions": """
%h.0 = copy %z[t] : [b, t | b == 0] f32
%h.1 = mul %h[b-1, t], %z : [b, t | b >= 1] f32
%h = merge{targets=((b, t), (b, t))} %h.0 when b == 0, %h.1 when b >= 1 : [b, t] f32
%k.0 = copy %w : [b, t | b == 0] f32[3, 3]
%k.1 = matmul %k[b-1, t], %w : [b, t | b >= 1] f32[3, 3]
%k = merge{targets=((b, t), (b, t))} %k.0 when b == 0, %k.1 when b >= 1 : [b, t] f32[3, 3]
%y = mul %k, %h : [b, t] f32[3, 3]
output y = %y[0:B, 0:T]
""",
    "a state that never changes": """
%c.0 = sum %x : [b] f32
%c.1 = copy %c[b, t-1] : [b, t | t != 0] f32
%c = merge{targets=((b, 0), (b, t))} %c.0 when t == 0, %c.1 when t != 0 : [b, t] f32
%y = mul %c, %z : [b, t] f32
output y = %y[0:B, 0:T]
""",
    "equations that say the same": """
%q.sum = sum %x : [b | T >= 2] f32
%q.0 = sum %x : [b] f32
%q.1 = copy %q.sum : [b, t | t != 0] f32
%q = merge{targets=((b, 0), (b, t))} %q.0 when t == 0, %q.1 when t != 0 : [b, t] f32
%y = mul %q, %z : [b, t] f32
output y = %y[0:B, 0:T]
""",
    "draws vary with the indices of their keys": """
%seed = seed : [] key[2]
%one = random_key{place=7, at=(b,)} %seed : [b, t] key[2]
%two = random_key{place=8, at=(b, t)} %seed : [b, t] key[2]
%n = normal{shape=(2,)} %one : [b, t] f32[2]
%m = normal{shape=(2,)} %two : [b, t] f32[2]
%y = add %n, %m : [b, t] f32[2]
output y = %y[0:B, 0:T]
""",
    "calls of pure functions once, of others at each point": """
%p = extern_jax{CALL} %x : [b, t] f32[3]
%q = extern_host{CALL} %x : [b, t] f32[3]
%y = add %p, %q : [b, t] f32[3]
output y = %y[0:B, 0:T]
""".replace("CALL", CALL),
    "a branch of cond stays behind its condition": """
%zero = literal{value=0.0, dtype=f32} : [] f32
%p = gt %z, %zero : [b, t] bool
%s = sum %x : [b, t] f32
%e = exp %s : [b, t] f32
%y = cond %p, %e, %z : [b, t] f32
output y = %y[0:B, 0:T]
""",
    "unless the condition is invariant too": """
%zero = literal{value=0.0, dtype=f32} : [] f32
%r = sum %x : [b, t] f32
%p = gt %r, %zero : [b, t] bool
%s = max %x : [b, t] f32
%e = exp %s : [b, t] f32
%c = cond %p, %e, %r : [b, t] f32
%y = mul %c, %z : [b, t] f32
output y = %y[0:B, 0:T]
""",
    "a table is larger than its index": """
%i = argmax{axis=0} %x : [b] i32
%o = one_hot{n=5000, dtype=f32} %i : [b, t] f32[5000]
%y = mul %o, %z : [b, t] f32[5000]
%n = sum{axes=(0,)} %y : [b, t] f32
%p = one_hot{n=5000, dtype=f32} %i : [b, t] f32[5000]
%q = max{axes=(0,)} %p : [b, t] f32
%r = add %n, %q : [b, t] f32
output r = %r[0:B, 0:T]
""",
    "a table for those who need it once, and one for those who do not": """
%i = argmax{axis=0} %x : [b] i32
%o = one_hot{n=5000, dtype=f32} %i : [b, t] f32[5000]
%m = neg %o : [b, t] f32[5000]
%y = mul %m, %z : [b, t] f32[5000]
%n = sum{axes=(0,)} %y : [b, t] f32
%q = max{axes=(0,)} %m : [b, t] f32
%r = add %n, %q : [b, t] f32
output r = %r[0:B, 0:T]
""",
    "one point less, as its readers have it": """
%g = exp %z : [t] f32
%d = tanh %g : [t] f32
%y = add %d, %z[t+1] : [t | t < T-1] f32
%l = sum %y[0:T-1] : [] f32
output l = %l
""",
    "a recurrence whose first points nobody wants": """
%h.0 = copy %z[0] : [] f32
%h.1 = add %h[t-1], %z : [t | t >= 1] f32
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32
%e = exp %h : [t] f32
%y = mul %e, %z[t-2] : [t | t >= 2] f32
%l = sum %y[2:T] : [] f32
output l = %l
""",
    "training ends with its weights": """
%W.0 = sum %x[0] : [] f32
%s = mul %W, %z[0] : [b] f32
%g = cos %s : [b] f32
%h = sin %s : [b] f32
%m = mul %g, %h : [b] f32
%W.1 = sub %W, %m : [b | b < B-1] f32
%W = merge{targets=((0,), (b+1,))} %W.0 when b == 0, %W.1[b-1] when b >= 1 : [b] f32
output W = %W[B-1]
""",
    "nobody asks for the first branch": """
%a = copy %z[0] : [] f32
%c = neg %z : [t | t >= 1] f32
%m = merge{targets=((0,), (t,))} %a when t == 0, %c when t >= 1 : [t] f32
%e = exp %m : [t | t >= 1] f32
%s = sum %e[1:T] : [] f32
output s = %s
""",
}
LEFT = {
    "it would part from those it reads": """
%g = exp %z : [t] f32
%h = exp %g : [t] f32
%o = add %g, %h : [t] f32
%k = mul %g, %h : [t] f32
%y = add %k[t+1], %z : [t | t < T-1] f32
%l = sum %y[0:T-1] : [] f32
output l = %l
output o = %o[0:T]
""",
    "printed at each point": """
%m = exp %z[0] : [t] f32
%n = print{names=("m",), places=((("t", t),),)} %m : [t]
output m = %m[0:T]
""",
    "a sum of ever more of the same": """
%m = exp %z[0] : [t] f32
%s = sum %m[0:t+1] : [t] f32
output s = %s[0:T]
""",
    "a default of a param": """
%d = full{shape=(2,), value=2.0, dtype=f32} : [t] f32[2]
%v = param{template="v", dtype=f32, shape=(2,), has_default=true} %d : [t] f32[2]
%s = sum %v : [t] f32
output s = %s[0:T]
""",
    "what is random at each point": """
%seed = seed : [] key[2]
%k = random_key{place=8, at=(t,)} %seed : [t] key[2]
%n = normal{shape=(2,)} %k : [t] f32[2]
output n = %n[0:T]
""",
}


def test_reduce_domain(golden: Golden) -> None:
    story = Story()
    for name, text in CASES.items():
        outcome = story.tell(name, HEAD + text, ReduceDomain())
        assert outcome.records[0].changed, name
    golden("passes/reduce_domain.txt", story.text)


@pytest.mark.parametrize("name", LEFT)
def test_what_stays(name: str) -> None:
    outcome = Story().tell(name, HEAD + LEFT[name], ReduceDomain())
    assert outcome.graph == graph(HEAD + LEFT[name])


@pytest.mark.parametrize("name", CASES)
def test_once_is_enough(name: str) -> None:
    first = Story().tell(name, HEAD + CASES[name], ReduceDomain()).graph
    space = Space(first.universe)
    assert ReduceDomain().run(first, PassContext(space)) == first


def test_what_loses_no_dimension_stays_the_very_node() -> None:
    more = "%k = neg %z : [t] f32\n%y = exp %k : [t] f32\noutput y = %y[0:T]\n"
    before = graph(HEAD + CASES["a chain"] + more)
    after = ReduceDomain().run(before, PassContext(Space(before.universe)))
    same = {name for name, node in before.nodes.items() if after.nodes[name] is node}
    assert same == {"x", "z", "w", "k", "y"}


def test_lengths_that_the_data_decide_stay_unknown_for_as_long_as_they_were() -> None:
    text = """
bound T until stop
dim t < T
%x = input{dtype=f32} : [t] f32
%stop = isnan %x : [t] bool
%stop.until = until{bound="T"} %stop : [t]
%e = exp %x[0] : [t | t >= 1] f32
%y = add %e, %x : [t | t >= 1] f32
%g = sin %x : [t] f32
%u = add %g, %x[t+1] : [t | t < T-1] f32
output y = %y[1:T]
output u = %u[0:T-1]
"""
    before = graph(text)
    after = ReduceDomain().run(before, PassContext(Space(before.universe)))
    assert after == before


def test_what_layers_that_do_not_learn_need_is_left_out() -> None:
    text = """
dim i < I
dim l < L = 6
input x[i]: f32[3]
param up[l]: f32[3, 3]
w[i, l] = up when l < 4
w[0, l] = up
h[i, 0] = x
y = tanh(w @ h)
h[i, l+1] = y
cost = sum(y[l = L-1])
w[i+1, l] = w - 0.1 * grad(cost, w)
output cost
"""
    before = elaborate(load_source(Source("layers.rt", text)), {})
    space = Space(before.universe)
    reduced = run_pipeline(before, (Canonicalize(), ReduceDomain()), PassContext(space)).graph
    backward = [n for n in reduced.nodes.values() if n.op.heavy and n.name.startswith("cost.d")]
    assert backward
    for node in backward:
        assert "l" not in node.domain.dims or space.implies(node.domain, parse_expr("l >= 4"))


def test_starred_dimensions_stay_as_they_are() -> None:
    outcome = Story().tell("", HEAD + CASES["a chain"], Vectorize(), ReduceDomain())
    _, reduced = outcome.records
    assert not reduced.changed
    assert [r.message for r in reduced.remarks] == ["nothing is reduced after `vectorize`"]


# ---------------------------------------------------------------- generated programs


class Repeater(Writer):
    """Adds tensors that say the same at many points, and some that are read in part."""

    def widened(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A chain that does not vary with one dimension, and a reader that does."""
        rest = tuple(dim for dim in dims if dim != d)
        inner = self.mixed(rest, **{d: "0"})
        once, again = (access(f"{name}{k}", dims, {}) for k in "pq")
        far = {d: self.choose(f"max({d} - 1, 0)", f"{bound(d)} - 1 - {d}", d)}
        end = self.choose(access(f"{name}q", dims, far), f"sum({name}q[{d} = 0:{d}+1])")
        return [
            f"{once} = sum(stack([{inner}, 0.5], 0))",
            f"{again} = tanh({once}) + {self.operand(rest, **{d: '0'})}",
            f"{access(name, dims, {})} = {end} * {self.operand(dims)}",
        ]

    def carried(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A state that never changes, or one of two equations that say the same."""
        rest = tuple(dim for dim in dims if dim != d)
        first = f"sum(stack([{self.mixed(rest, **{d: '0'})}, 1.0], 0))"
        state = f"{name}s"
        before = access(state, dims, {d: f"{d}-1"})
        return [
            f"{access(state, dims, {d: '0'})} = {first}",
            f"{access(state, dims, {})} = {self.choose(before, first)}",
            f"{access(name, dims, {})} = {access(state, dims, {})} - {self.operand(dims)}",
        ]

    def shortened(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A recurrence or a chain of which some points at an end are read."""
        part, e = f"{name}h", bound(d)
        guard = self.choose(f"{d} < {e} - 1", f"{d} >= 1", f"{d} >= 2", f"{d} < {e} - 2")
        before = access(part, dims, {d: f"max({d} - 1, 0)"})
        other = self.choose(f"{before} * 0.5", self.operand(dims))
        lines = [f"{access(f'{name}g', dims, {})} = {self.mixed(dims)}"]
        if "h[" in other:
            lines.append(f"{access(part, dims, {d: '0'})} = 0.25")
            other = f"{access(part, dims, {d: f'{d}-1'})} * 0.5"
        lines.append(f"{access(part, dims, {})} = {other} + {access(f'{name}g', dims, {})}")
        read = f"{access(part, dims, {})} * {self.operand(dims)}"
        lines.append(f"{access(f'{name}u', dims, {})} = {read} when {guard}")
        lines.append(
            f"{access(name, dims, {})} = {access(f'{name}u', dims, {})} if {guard} else 0.5"
        )
        return lines

    def guarded_once(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """What is the same at each point, behind a condition that is not, or that is."""
        rest = tuple(dim for dim in dims if dim != d)
        inner = f"tanh({self.mixed(rest, **{d: '0'})})"
        which = self.choose(self.operand(dims), self.operand(rest, **{d: "0"}))
        return [f"{access(name, dims, {})} = cond({which} > 0.1, {inner}, {self.operand(dims)})"]


@st.composite
def repeating(draw: Draw) -> Program:
    """A program in which domains are larger than they need to be."""
    program = begin(draw)
    writer = Repeater(draw, program)
    kinds = ("widened", "carried", "shortened", "guarded_once", "forwards", "reduced", "ragged")
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=4)):  # type: ignore[attr-defined]
        writer.add(kind)
    return program


@given(program=repeating())
@generated(4, long=14)
def test_generated_programs_keep_their_meaning(program: Program) -> None:
    note(program.text)
    before = elaborate(load_source(Source("generated.rt", program.text)), {})
    space = Space(before.universe)
    steps = (Canonicalize(), ReduceDomain(), Canonicalize(), ReduceDomain())
    outcome = run_pipeline(
        before, steps, PassContext(space), verify=lambda g, s: verify(g, space, after=s)
    )
    assert_same(before, outcome.graph)
    assert_written_once(outcome.graph, statements(outcome.graph, space))
