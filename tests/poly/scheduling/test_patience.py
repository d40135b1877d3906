"""Questions that take isl too long: given up by number of steps, and nothing goes wrong for it."""

from __future__ import annotations

import islpy as isl
import pytest

from tempoc.base.effort import EFFORT
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.poly.relations import maps, recover, sets
from tempoc.poly.relations.sets import IslFrame
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling import liveness, loop_nest
from tempoc.schedule.compute import compute
from tempoc.schedule.text import show as show_tree
from tempoc.schedule.verify import replay
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate
from tests.poly.relations.worlds import bounds, dom, points, space
from tests.schedule.programs import PROGRAMS
from tests.support.agreement import agree, all_equal, compile_text

RING = """
dim t < T
input x[t]: f32[4]
h[t] = x * 0.5
y[t] = sum(h[max(0, t-3)//2:t//2+1]) when t % 2 == 0
y[t] = h[t//3][0] + h[t][1]
z[t] = sum(y[t:min(t+3, T)])
output z
"""
EMPTY_PIECES = """
dim t < T
input x[t]: f32
input k[t]: i32
a[t] = x when t % 3 == 0 and t < T - 2
a[t] = x[t-1] * 2.0 when t % 3 == 1
a[t] = a[t-2] + 1.0 when t >= 5 and t // 2 % 2 == 0
a[t] = 0.5 * a[t-1] when t >= 4
a[t] = x[T-1-t]
h, ii = top_k(stack([a, x, a * x, 0.1]), 2)
s = sort(stack([a, x, a * x, 0.1]))
q = cumsum(s) - cummax((h)[1] * stack([1.0, -1.0]))[0]
w = take(q, clip(k + (ii)[0], 0, 3)) + take_along(q, argsort(q), 0)[0]
v = sum(w[max(t-2, 0):min(t+2, T)] * expand_dims(x[max(t-2, 0):min(t+2, T)], 1))
loss = sum(v * w[min(t+3, T-1)] + w[T-1-t] * w[0])
g = grad(loss, x)
l2 = sum(g * g[T-1-t])
g2 = grad(l2, x)
ga = grad(loss, a)
output g, g2, ga, v
"""
"""Relations with convex pieces that hold no points."""
RESIDUES = """
dim t < T
dim i < I
input x[t, i]: f32
input w: f32
y[t, i] = w * x[t, i] when (t + 2*i) % 3 != 1 and t + i < T
y[t, i] = x[t, i]
g = grad(sum(y[0:T, 0:I]), w)
output g
"""
SKEW = (
    "[T, I] -> { [t] : exists (i, j: 0 < t < T and 2t < 5i < I + 2t and"
    " (-2 - 3t + 10i <= 7j <= -3t + 10i or -6 - 3t + 10i <= 7j <= -4 - 3t + 10i)) }"
)
RING_OF_3 = parse_expr("min(T, 3)")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Isl answers next to nothing soon."""
    monkeypatch.setattr(sets, "EFFORT", EFFORT._replace(first_steps=1, least_steps=1))
    monkeypatch.setattr(loop_nest, "EFFORT", EFFORT._replace(query_steps=1, separation_steps=0))


def unsettled() -> Space:
    """A space in which nothing was asked yet."""
    return Space(space().universe)


def test_what_takes_too_long_is_not_simplified(impatient: None) -> None:
    long = parse_expr("t % 2 == 1 or t % 2 == 0")
    assert unsettled().simplify(long, dom("t")) == long


def test_with_patience_it_is() -> None:
    short = unsettled().simplify(parse_expr("t % 2 == 1 or t % 2 == 0"), dom("t"))
    assert show(short) == "true"


def test_patience_is_for_the_whole_question() -> None:
    frame = IslFrame(("T",))
    assert frame.limited(10**6, lambda: frame.limited(1, lambda: 5)) == 5


def test_programs_mean_the_same_without_patience(impatient: None) -> None:
    agree(RING, *all_equal(RING, 1, 2, 5, 8))


def test_stores_are_no_rings_without_patience(impatient: None) -> None:
    assert RING_OF_3 not in extents()


def test_with_patience_one_is() -> None:
    assert RING_OF_3 in extents()


def test_windows_with_many_divisions_are_whole_extents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "EFFORT", EFFORT._replace(window_divisions=0))
    assert RING_OF_3 not in extents()
    agree(RING, *all_equal(RING, 1, 5))


@pytest.mark.parametrize(
    "text",
    [
        "[N] -> { [d] : -2 <= d <= N }",
        "[N] -> { [d] : -N <= d <= 3 and N > 0; [d] : d = 2N }",
        "[N, M] -> { [d] : -N <= 2d < M and d mod 3 = 1; [d] : 0 <= 5d <= N - M and d mod 2 = 0 }",
    ],
)
@pytest.mark.parametrize("most", [-1, EFFORT.window_divisions])
def test_the_furthest_of_distances(text: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "EFFORT", EFFORT._replace(window_divisions=most))
    gaps = isl.Set.read_from_str(isl.Context(), text)
    after, before = gaps.dim_max(0), gaps.dim_min(0).neg()
    assert not after.is_equal(before)
    forms = [*liveness._furthest(gaps)]
    assert len(forms) == 1 + (most > 0)
    assert all(form.is_equal(after.max(before)) for form in forms)


def extents() -> set[Expr]:
    """How many slots the stores have along ``t``."""
    _, loaded = compile_text(RING, 0)
    return {axis.size for store in loaded.program.stores for axis in store.axes}


def test_a_composition_of_many_pieces_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    context = isl.Context()
    texts = "[T] -> { [t] -> [0, t] : 0 <= t < T; [t] -> [1, t - T] : T <= t < 2T }"
    times = isl.Map.read_from_str(context, texts)
    order = isl.Map.lex_le(times.get_space().range())
    pieces = maps.through(times, order, times.reverse())
    monkeypatch.setattr(maps, "EFFORT", EFFORT._replace(composed_pieces=0))
    fewer = maps.through(times, order, times.reverse())
    assert fewer.is_equal(pieces)
    assert 0 < fewer.n_basic_map() < pieces.n_basic_map()


def test_the_last_step_stays_in_its_loop_without_patience(impatient: None) -> None:
    b = PROGRAMS["updates"]()
    tree = compute(b.statements, b.space).tree
    assert "for i in 0..I:" in show_tree(tree)
    assert list(replay(b.statements, tree, b.space, (1, 2, 3))) == []


def test_the_last_of_many_uses_takes_few_steps() -> None:
    """Of halves at first; isl compares each use with what all others have left of it."""
    uses = (f"[] -> [t, {k}] : t % 26 = 0 and 0 <= t <= {k} + T" for k in range(26))
    times = isl.Map.read_from_str(isl.Context(), f"[T] -> {{ {'; '.join(uses)} }}")
    context = times.get_ctx()
    assert times.n_basic_map() > EFFORT.compared_pieces
    context.set_max_operations(1_000_000)
    with pytest.raises(isl.Error):
        times.lexmax()
    context.reset_operations()
    last = maps.latest(times)
    context.set_max_operations(0)
    assert last.is_equal(times.lexmax())


def test_the_minimum_of_many_functions_takes_few_steps() -> None:
    """Each order of 14 bounds is a piece of the minimum that isl makes of two after two."""
    names = [f"N{k}" for k in range(14)]
    below = " and ".join(f"i <= {n}" for n in names)
    least = isl.Set.read_from_str(isl.Context(), f"[{', '.join(names)}] -> {{ [i] : {below} }}")
    context, given = least.get_ctx(), least.params()
    least = least.dim_max(0)
    context.set_max_operations(1_000_000)
    context.reset_operations()
    assert recover.value(least, given) == parse_expr(f"min({', '.join(names)})")


def test_ends_of_many_divisions_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    skew = isl.Set.read_from_str(isl.Context(), SKEW)
    assert recover.end(skew, 0, greatest=True) is None
    parts = [isl.Set.from_basic_set(b) for b in skew.get_basic_sets()]
    ends = [recover.end(part, 0, greatest=True) for part in parts]
    most = max(map(recover._divisions, ends))
    monkeypatch.setattr(recover, "EFFORT", EFFORT._replace(stated_divisions=most))
    assert recover.end(skew, 0, greatest=True) is None, "all together have more"


@pytest.mark.parametrize(("saved", "first", "shown"), [("y", 0, "h"), ("h", 1, "y")])
def test_files_of_many_steps_take_few_steps(saved: str, first: int, shown: str) -> None:
    """Which file is the last one that a value goes to says nothing that a plan needs.

    Nor whether one is the last use of what the first step makes, before the loop.
    """
    saves = (
        f'save {saved}[t] to "{k}-{{t}}.safetensors" when t % {k} == {first}\n'
        for k in range(2, 12)
    )
    states = "h[0] = x[0]\nh[t] = tanh(h[t-1] + x[t])\ny[t] = h[t] * 2.0\n"
    text = f"dim t < T\ninput x[t]: f32[8]\n{states}{''.join(saves)}output {shown}\n"
    compilation = Compilation(load_source(Source("m.rt", text)), Options())
    assert compilation.plan and not compilation.space.frame._hard


def test_limits_that_are_not_stated_are_still_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recover, "EFFORT", EFFORT._replace(stated_divisions=0))
    some = dom("t", "(t % 3 == 1 or t % 2 == 1 and t < P) and t >= 1")
    most, least = (
        limit(parse_expr("t"), some) for limit in (unsettled().upper_bound, unsettled().lower_bound)
    )
    for env in bounds():
        for at in points(some, env):
            assert evaluate(least, at) <= at["t"] <= evaluate(most, at)


def test_a_limit_on_which_isl_gives_up_leaves_another_question_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gives_up(*_: object) -> None:
        raise isl.Error("of divisions")

    monkeypatch.setattr(recover, "_end", gives_up)
    world = unsettled()
    for limit in (world.upper_bound, world.lower_bound):
        known = world.frame.limited(
            EFFORT.query_steps, lambda ask=limit: ask(parse_expr("t"), dom("t", "t % 3 == 1"))
        )
        assert known is not None


def test_gradients_are_the_same_if_no_readers_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recover, "EFFORT", EFFORT._replace(stated_divisions=0))
    agree(RESIDUES, {"T": 4, "I": 3}, levels=(2,))


@pytest.mark.long("a minute of compilation, in which isl ended the process")
def test_pieces_without_points_are_not_coalesced() -> None:
    options = Options(bucket=2, limit=200)
    assert Compilation(load_source(Source("m.rt", EMPTY_PIECES)), options).optimized.nodes
