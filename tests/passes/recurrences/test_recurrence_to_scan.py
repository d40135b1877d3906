"""Which cycles become scans, which stay loops, and that both mean the same."""

from __future__ import annotations

from hypothesis import given, note, strategies as st

from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.recurrence import Recurrence
from tempoc.passes.context import PassContext
from tempoc.passes.fusion.fuse import Fuse
from tempoc.passes.recurrences.recurrence_to_scan import RecurrenceToScan
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import Story, assert_same
from tests.support.generators.settings import generated
from tests.support.golden import Golden

CASES = {
    "returns: from the end, with what ends an episode": """
bound T
dim t < T
%r = input{dtype=f32} : [t] f32
%done = input{dtype=bool} : [t] bool
%zero = literal{value=0.0, dtype=f32} : [] f32
%gamma = literal{value=0.9, dtype=f32} : [] f32
%after = where %done, %zero, %gamma : [t] f32
%g.mul = mul %after, %g[t+1] : [t | t < T-1] f32
%g.0 = add %r, %g.mul : [t | t < T-1] f32
%g.1 = copy %r : [t | t == T-1] f32
%g = merge{targets=((t,), (t,))} %g.0 when t < T-1, %g.1 when t == T-1 : [t] f32
%y = exp %g : [t] f32
output g = %g[0:T]
output y = %y[0:T]
""",
    "a complex number is two states of one scan": """
bound T
dim t < T
%a = input{dtype=f32, shape=(2,)} : [] f32[2]
%b = input{dtype=f32, shape=(2,)} : [] f32[2]
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%re.mul = mul %a, %re : [t | t+1 < T] f32[2]
%re.mul2 = mul %b, %im : [t | t+1 < T] f32[2]
%re.sub = sub %re.mul, %re.mul2 : [t | t+1 < T] f32[2]
%re.1 = add %re.sub, %x[t+1] : [t | t+1 < T] f32[2]
%im.mul = mul %a, %im : [t | t+1 < T] f32[2]
%im.mul2 = mul %b, %re : [t | t+1 < T] f32[2]
%im.1 = add %im.mul, %im.mul2 : [t | t+1 < T] f32[2]
%re.0 = copy %x[0] : [] f32[2]
%im.0 = full{shape=(2,), value=0.0, dtype=f32} : [] f32[2]
%re = merge{targets=((0,), (t+1,))} %re.0 when t == 0, %re.1[t-1] when t >= 1 : [t] f32[2]
%im = merge{targets=((0,), (t+1,))} %im.0 when t == 0, %im.1[t-1] when t >= 1 : [t] f32[2]
output re = %re[0:T]
output im = %im[T-1]
""",
    "a batch of maxima; operands that are turned round or taken apart": """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32} : [b, t] f32
%w = input{dtype=f32} : [t] f32
%s.0 = copy %x[b, 0] : [b] f32
%s.in = maximum %s[b, t-1], %x : [b, t | t >= 1] f32
%s.back = minimum %s.in, %w[T-1-t] : [b, t | t >= 1] f32
%s.sum = sum{axes=(0,)} %x[0:B, t] : [t] f32
%s.1 = maximum %s.back, %s.sum : [b, t | t >= 1] f32
%s = merge{targets=((b, 0), (b, t))} %s.0 when t == 0, %s.1 when t >= 1 : [b, t] f32
%m = max{axes=(0,)} %s[b, 0:T] : [b] f32
output m = %m[0:B]
""",
    "a batch that no later loop needs stays in a loop": """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32} : [b, t] f32
%s.0 = copy %x[b, 0] : [b] f32
%s.1 = maximum %s[b, t-1], %x : [b, t | t >= 1] f32
%s = merge{targets=((b, 0), (b, t))} %s.0 when t == 0, %s.1 when t >= 1 : [b, t] f32
%y = exp %s : [b, t] f32
output y = %y[0:B, 0:T]
""",
    "a matrix, and more than one equation at the start": """
bound T
dim t < T
%m = input{dtype=f32, shape=(2, 2)} : [t] f32[2, 2]
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%h.dot = matmul %m, %h[t-1] : [t | t >= 2] f32[2]
%h.2 = add %h.dot, %x : [t | t >= 2] f32[2]
%a = full{shape=(2,), value=1.0, dtype=f32} : [t | t == 0] f32[2]
%b = copy %x : [t | t == 1] f32[2]
%h = merge{targets=((t,), (t,), (t,))} %a when t == 0, %b when t == 1, %h.2 when t >= 2 : [t] f32[2]
output h = %h[0:T]
""",
    "parts of what a step makes": """
bound T
dim t < T
%w = input{dtype=f32, shape=(4, 2)} : [] f32[4, 2]
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%dot = matmul %w, %h[t-1] : [t | t >= 1] f32[4]
%both = add %dot, %x : [t | t >= 1] f32[4]
%gates = split{sections=2, axis=0} %both : [t | t >= 1] f32[2], f32[2]
%c.mul = mul %gates, %c[t-1] : [t | t >= 1] f32[2]
%c.1 = add %c.mul, %gates@1 : [t | t >= 1] f32[2]
%h.1 = tanh %c : [t | t >= 1] f32[2]
%zero = full{shape=(2,), value=0.0, dtype=f32} : [] f32[2]
%h.0 = copy %zero : [] f32[2]
%c.0 = copy %zero : [] f32[2]
%c = merge{targets=((0,), (t,))} %c.0 when t == 0, %c.1 when t >= 1 : [t] f32[2]
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[2]
output h = %h[0:T]
output gates = %gates@1[1:T]
""",
    "a derivative: nodes of the cycle read at a distance": """
bound T
dim t < T
%a = input{dtype=f32} : [t] f32
%g = input{dtype=f32} : [t] f32
%d.mul = mul %d, %a : [t | t >= 1] f32
%d.0 = add %g, %d.mul[t+1] : [t | t < T-1] f32
%d.1 = copy %g : [t | t == T-1] f32
%d = merge{targets=((t,), (t,))} %d.0 when t < T-1, %d.1 when t == T-1 : [t] f32
%y.0 = copy %d.mul : [t | t >= 1] f32
%y.1 = copy %d[0] : [] f32
%y = merge{targets=((t,), (0,))} %y.0 when t >= 1, %y.1 when t == 0 : [t] f32
output d = %d[0:T]
output y = %y[0:T]
""",
    "whole numbers and truth values, one made of the other": """
bound T
dim t < T
%x = input{dtype=i32} : [t] i32
%five = literal{value=5, dtype=i32} : [] i32
%n.add = add %n[t-1], %x : [t | t >= 1] i32
%n.1 = mod %n.add, %five : [t | t >= 1] i32
%n.0 = copy %x[0] : [] i32
%n = merge{targets=((0,), (t,))} %n.0 when t == 0, %n.1 when t >= 1 : [t] i32
%e.eq = eq %n, %five : [t | t >= 1] bool
%e.1 = or %e.eq, %e[t-1] : [t | t >= 1] bool
%e.0 = eq %n[0], %five : [] bool
%e = merge{targets=((0,), (t,))} %e.0 when t == 0, %e.1 when t >= 1 : [t] bool
output n = %n[0:T]
output e = %e[0:T]
""",
    "a branch has values where the state takes none": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%n = tanh %s : [t] f32
%s.0 = copy %x : [t | t < 2] f32
%s = merge{targets=((t,), (t+1,))} %s.0 when t < 2, %n[t-1] when t >= 2 : [t] f32
output n = %n[0:T]
output s = %s[0:T]
""",
    "the same, a result of several": """
bound T
dim t < T
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%both = concat{axis=0} %s, %x : [t] f32[4]
%n = split{sections=2, axis=0} %both : [t] f32[2], f32[2]
%s.0 = copy %x : [t | t < 2] f32[2]
%s = merge{targets=((t,), (t+1,))} %s.0 when t < 2, %n@1[t-1] when t >= 2 : [t] f32[2]
%y = mul %n, %n@1 : [t] f32[2]
output y = %y[0:T]
output s = %s[0:T]
""",
    "inside a loop over another dimension": """
bound I
bound T
dim i < I
dim t < T
%x = input{dtype=f32} : [t] f32
%w.0 = literal{value=0.5, dtype=f32} : [] f32
%h.mul = mul %w, %h[i, t-1] : [i, t | t >= 1] f32
%h.1 = add %h.mul, %x : [i, t | t >= 1] f32
%h.0 = copy %x[0] : [i] f32
%h = merge{targets=((i, 0), (i, t))} %h.0 when t == 0, %h.1 when t >= 1 : [i, t] f32
%w.sum = sum{axes=(0,)} %h[i, 0:T] : [i | i+1 < I] f32
%w.1 = tanh %w.sum : [i | i+1 < I] f32
%w.2 = copy %w.0 : [] f32
%w = merge{targets=((0,), (i+1,))} %w.2 when i == 0, %w.1[i-1] when i >= 1 : [i] f32
output h = %h[I-1, 0:T]
""",
    "what a loop makes, and only for the next step, stays in that loop": """
bound T
dim t < T
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%s.sort = sort %s[t-1] : [t | t >= 1] f32[4]
%s.1 = add %s.sort, %x : [t | t >= 1] f32[4]
%s.0 = copy %x[0] : [] f32[4]
%s = merge{targets=((0,), (t,))} %s.0 when t == 0, %s.1 when t >= 1 : [t] f32[4]
%r = exp %s : [t] f32[4]
%h.1 = add %h[t-1], %r : [t | t >= 1] f32[4]
%h.0 = copy %r[0] : [] f32[4]
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[4]
output h = %h[T-1]
""",
    "two steps back, and all that was before": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%f.1 = add %f[t-1], %f[t-2] : [t | t >= 2] f32
%f.0 = copy %x : [t | t < 2] f32
%f = merge{targets=((t,), (t,))} %f.0 when t < 2, %f.1 when t >= 2 : [t] f32
%p.sum = sum{axes=(0,)} %p[0:t] : [t | t >= 1] f32
%p.1 = mul %p.sum, %x : [t | t >= 1] f32
%p.0 = copy %x[0] : [] f32
%p = merge{targets=((0,), (t,))} %p.0 when t == 0, %p.1 when t >= 1 : [t] f32
output f = %f[0:T]
output p = %p[0:T]
""",
    "a signal that is filtered and turned around": """
bound T
dim t < T
%x = input{dtype=f32, shape=(4, 2)} : [t] f32[4, 2]
%w = input{dtype=f32, shape=(3, 2, 2)} : [] f32[3, 2, 2]
%h.conv = conv{stride=1, padding="same"} %h, %w : [t | t+1 < T] f32[4, 2]
%h.flip = flip{axes=(0,)} %h.conv : [t | t+1 < T] f32[4, 2]
%h.1 = add %h.flip, %x[t+1] : [t | t+1 < T] f32[4, 2]
%h.0 = copy %x[0] : [] f32[4, 2]
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32[4, 2]
output h = %h[0:T]
""",
}  # fmt: skip


def test_scans(golden: Golden) -> None:
    story = Story()
    for name, text in CASES.items():
        story.tell(name, text, Vectorize(), RecurrenceToScan(), Vectorize())
    golden("passes/scans.txt", story.text)


STATES = ("h", "g")
BEFORE = ("{s}", "{s}", "tanh({s})", "{a} * {s}", "{s} * {a} + {b}", "-{s}", "{s} - {b} * {s}")
"""What a step makes of a state, given `a` and `b`."""
MORE = ("maximum({x}, {y})", "{x} + {y}", "{x} * {y} + {x}", "where({c}, {x}, {y})", "{x} - {y}")


@st.composite
def recurrences(draw: st.DrawFn) -> str:
    """A program with one recurrence of one or two states, forwards or backwards, read anyhow."""

    def choose(*options: str) -> str:
        return draw(st.sampled_from(options))

    batch, back = draw(st.booleans()), draw(st.booleans())
    dims = "b, t" if batch else "t"
    before, first = ("t+1", "T-1") if back else ("t-1", "0")
    shape = choose("", "[3]")
    states = STATES[: draw(st.integers(1, 2))]
    lines = ["dim b < B", "dim t < T", f"input x[{dims}]: f32{shape}", f"input y[t]: f32{shape}"]
    lines += [f"input done[{dims}]: bool{shape}"]
    lead = "b, " if batch else ""

    def operand() -> str:
        return choose("x", "y", "0.5", "exp(-x * x)", "y[T-1-t]", f"x[{lead}T-1-t]", "x * y")

    def term() -> str:
        s = f"{choose(*states)}[{lead}{before}]"
        return choose(*BEFORE).format(s=s, a=operand(), b=operand())

    def step() -> str:
        x, y = term(), choose(term(), operand())
        return f"0.7 * ({choose(*MORE).format(x=x, y=y, c='done')})"

    for s in states:
        if draw(st.booleans()):
            lines.append(f"{s}[{lead}{first}] = x[{lead}{first}]")
        else:
            lines.append(f"{s}[{lead}{first}] = {choose('', 'tanh')}(y[{first}])")
        lines.append(f"{s}[{lead}t] = {step()} + {operand()}")
        lines.append(f"{s}r = {s} * x + {s}[{lead}T-1] + sum({s}[t = 0:t+1], axis = 0)")
    lines.append(f"loss = sum({states[0]}[{'b = 0:B, ' if batch else ''}t = 0:T])")
    lines.append("slope = grad(loss, x)")
    shown = [*states, *(f"{s}r" for s in states), "slope"]
    return "\n".join([*lines, f"output {', '.join(shown)}", ""])


@given(text=recurrences())
@generated(4, long=14)
def test_recurrences_become_scans_and_mean_the_same(text: str) -> None:
    note(text)
    graph = elaborate(load_source(Source("generated.rt", text)), {})
    space = Space(graph.universe)
    steps = (Canonicalize(), Vectorize(), RecurrenceToScan(), Vectorize(), Fuse())
    outcome = run_pipeline(
        graph, steps, PassContext(space), verify=lambda g, s: verify(g, space, after=s)
    )
    assert any(isinstance(n.op, Recurrence) for n in outcome.graph.nodes.values())
    assert parse_graph(show(outcome.graph), "generated.sdg") == outcome.graph
    assert_same(graph, outcome.graph)


def scanned(text: str) -> tuple[Graph, Graph]:
    """The graph of a program, and what the pass makes of it, vectorized."""
    before = after = elaborate(load_source(Source("m.rt", text)), {})
    context = PassContext(Space(before.universe))
    for step in (Canonicalize(), Vectorize(), RecurrenceToScan()):
        after = step.run(after, context)
    return before, after


def test_of_what_a_step_computes_only_the_last_one_is_left() -> None:
    text = """dim k < K
param w: f32[3, 3]
input z[k]: f32[3]
x[0] = ones([3])
next = tanh(w @ x + z)
x[k+1] = next
last = next[K-1]
output last
"""
    _, after = scanned(text)
    (product,) = (line for line in show(after).split("\n") if " = matmul %w, " in line)
    assert "[k* | k == K-1]" in product


def test_what_all_steps_make_and_others_read_is_not_made_again() -> None:
    text = """dim b < B
dim k < K
param w: f32[3, 3]
input z[b, k]: f32[3]
x[b, K-1] = ones([3])
next = tanh(w @ x + z)
x[b, k-1] = next
y = w @ next + x
output next, y
"""
    before, after = scanned(text)
    products = [n for n in after.nodes.values() if n.op.name == "matmul"]
    assert [n.name for n in products] == ["y.matmul"]
    assert_same(before, after)


def test_small_steps_whose_last_state_alone_is_read_stay_a_loop() -> None:
    """In each step of another loop a scan would store them all, and turn what it has stored."""
    text = """dim t < T
dim k < K
input u[t]: f32
x[0, 0] = 0.5
x[t+1, 0] = last[t]
next = x + 0.1 * sin(x + u)
x[t, k+1] = next
last = next[k = K-1]
output last
"""
    for last, scans in (("next[k = K-1]", 0), ("next[k = K-1] + f32(argmax(next[k = 0:K]))", 1)):
        changed = text.replace("last = next[k = K-1]", f"last = {last}")
        before, after = scanned(changed)
        assert sum(isinstance(n.op, Recurrence) for n in after.nodes.values()) == scans
        assert_same(before, after)


def test_steps_within_those_of_a_training_loop_become_a_scan() -> None:
    """Weights of several parts, which might be a scan if what changes them did not read it."""
    text = """dim i < I
dim e < E = 2
dim n < N
input x[n]: f32
w[0, e] = 0.5
a = tanh(w * x)
s[i, e, n] = a if n == 0 else s[i, e, n-1] + a
w[i+1, e] = w - 0.1 * sum(s[i, e, 0:N])
output s
"""
    before, after = scanned(text)
    assert [n.name for n in after.nodes.values() if isinstance(n.op, Recurrence)] == ["s.rows"]
    assert_same(before, after)


def test_states_that_are_multiplied_with_vectors_alone_stay_a_loop() -> None:
    """A filter that learns makes its errors in the steps; beside a scan they are made again."""
    text = """dim t < T
const D = 8
input x[t]: f32[D]
input M: f32[D, D]
w[0] = zeros([D])
e = 1.0 - w @ x
w[t+1] = w + 0.1 * e * x
output e
"""
    for changed, scans in ((text, 0), (text.replace("w + 0.1 * e", "tanh(M @ w) + 0.1 * e"), 1)):
        before, after = scanned(changed)
        assert sum(isinstance(n.op, Recurrence) for n in after.nodes.values()) == scans
        assert_same(before, after)


def test_means_of_what_a_loop_makes_and_does_not_keep_stay_a_loop() -> None:
    """All weights of a training loop would be stored for a scan; what goes backwards needs them."""
    text = """dim i < I
input x[i]: f32[16]
param first: f32[16, 16]
w[0] = first
w[i+1] = w - 0.1 * grad(sum(tanh(w @ x) ** 2), w)
part = 0.01 * w
average[0] = part[0]
average[i] = 0.99 * average[i-1] + part
gap = sum((w - average) ** 2)
output gap
"""
    backwards = text.replace("average[0] = part[0]", "average[I-1] = part[I-1]")
    backwards = backwards.replace("average[i-1]", "average[i+1]")
    for changed, scans in ((text, 0), (backwards, 1)):
        before, after = scanned(changed)
        assert sum(isinstance(n.op, Recurrence) for n in after.nodes.values()) == scans
        assert_same(before, after)


def test_functions_that_others_read_too_are_stored_by_a_loop() -> None:
    """Beside a scan they are made again: that is better if they are much larger than a state, or
    beside products of matrices, which all points take at once."""
    text = """dim b < B
dim t < T
const D = 16
input x[b, t]: f32[D]
input M: f32[D, D]
e = exp(-abs(h) * x)
h[b, 0] = ones([D])
h[b, t+1] = 0.5 * h + e
y = sum(h * h, keepdims = true) + e
m = max(y[t = t:T], axis = 0)
output m
"""
    product = text.replace("0.5 * h", "0.5 * tanh(M @ h)")
    wide = text.replace("-abs(h) * x", "-abs(h) * stack([x, x, x, x, x])")
    wide = wide.replace("0.5 * h + e", "0.5 * h + sum(e, axis = 0)")
    programs = {
        "stored": (text, 0),
        "too small to store": (text.replace("const D = 16", "const D = 2"), 1),
        "products of matrices": (product, 1),
        "much larger than a state": (wide, 1),
    }
    for name, (changed, scans) in programs.items():
        before, after = scanned(changed)
        assert sum(isinstance(n.op, Recurrence) for n in after.nodes.values()) == scans, name
        assert_same(before, after)


def test_products_that_others_read_too_are_stored_by_a_loop() -> None:
    """Unless all steps share a matrix, of which a step multiplies few rows, or they are small."""
    text = """dim l < L
const R = 2
const D = 64
input x: f32[R, D]
input up[l]: f32[D, 2*D]
input down[l]: f32[2*D, D]
hidden = relu(h @ up)
h[0] = x
h[l+1] = tanh(h + hidden @ down)
both = hidden[l = l:L]
y = sum(sum(both, axis = 0))
output y
"""
    shared = text.replace("up[l]", "up").replace("down[l]", "down")
    programs = {
        "each step has matrices of its own": (text, 0),
        "products that are quickly made": (text.replace("const D = 64", "const D = 16"), 1),
        "steps share matrices": (shared, 1),
        "many rows": (shared.replace("R = 2", "R = 64"), 0),
        "read at one point": (text.replace("hidden[l = l:L]", "hidden[l = L-1]"), 1),
    }
    for name, (changed, scans) in programs.items():
        before, after = scanned(changed)
        assert sum(isinstance(n.op, Recurrence) for n in after.nodes.values()) == scans, name
        assert_same(before, after)


def test_states_that_take_steps_at_different_points_stay_a_loop() -> None:
    """Of the first layer ``p`` is made of ``a``, of the others of data."""
    text = """dim l < L = 3
dim k < K
input x[l]: f32[3]
input u[k]: f32[3]
p[l, k] = u * a[l-1, k] when l >= 1
p[l, k] = sin(a[l, k]) when k >= 1
p[l, k] = x
a[l, 0] = x
a[l, k+1] = 0.5 * a + p
s[l, k] = sum(a[l, 0:K]) + p
output s
"""
    before, after = scanned(text)
    assert_same(before, after)


def test_large_states_that_are_printed_become_a_scan() -> None:
    """A line takes a point as it is; it reduces nothing."""
    _, after = scanned(
        "dim t < T\nparam w: f32[256, 256]\nh[0] = ones([256])\nh[t+1] = tanh(w @ h)\nprint h[t]\n"
        "output h[T-1] as last\n"
    )
    assert any(isinstance(n.op, Recurrence) for n in after.nodes.values())
