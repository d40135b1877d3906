"""Tiles in the place of large tensors: which, how they are combined, and the proof."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.passes.analysis.size_estimate import bytes_of, estimated_sizes, size_formula
from tempoc.passes.context import PassContext
from tempoc.passes.tiling.tile import Tile
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import SIZES, graph, meaning
from tests.support.golden import Golden

HEAD = """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(3,)} : [b, t] f32[3]
%y = input{dtype=f32, shape=(3,)} : [t] f32[3]
%k = input{dtype=i32} : [t] i32
%w = param{template="w", dtype=f32, shape=(3, 4)} : [] f32[3, 4]
"""
MADE = {
    "a mean of what is computed for each row": """
%z = matmul %y[0:T], %w : [] f32[T, 4]
%e = logsumexp{axes=(-1,)} %z : [] f32[T]
%m = mean %e : [] f32
output m = %m
""",
    "contractions, one of which keeps the axis": """
%z = matmul %y[0:T], %w : [] f32[T, 4]
%u = einsum{spec="tk,td->kd"} %z, %y[0:T] : [] f32[4, 3]
%d = einsum{spec="tk,dk->td"} %z, %w : [] f32[T, 3]
output u = %u
output d = %d
""",
    "a maximum that every tile needs": """
%z = matmul %y[0:T], %w : [] f32[T, 4]
%m = max{axes=(0,), keepdims=true} %z : [] f32[1, 4]
%d = sub %z, %m : [] f32[T, 4]
%e = exp %d : [] f32[T, 4]
%s = sum{axes=(0,)} %e : [] f32[4]
output s = %s
""",
    "attention to a prefix, for all points at once": """
%z = matmul %y[0:t+1], %y : [t*] f32[t+1]
%m = max{axes=(0,), keepdims=true} %z : [t*] f32[1]
%d = sub %z, %m : [t*] f32[t+1]
%e = exp %d : [t*] f32[t+1]
%s = sum{axes=(0,), keepdims=true} %e : [t*] f32[1]
%p = div %e, %s : [t*] f32[t+1]
%o = matmul %p, %y[0:t+1] : [t*] f32[3]
output o = %o[0:T]
""",
    "attention to a suffix in two heads, point by point": """
%z = einsum{spec="bti,ti->bt"} %x[0:B, t:T], %y[t:T] : [t] f32[B, T-t]
%m = max{axes=(1,)} %z : [t] f32[B]
%n = expand_dims{axis=1} %m : [t] f32[B, 1]
%d = sub %z, %n : [t] f32[B, T-t]
%e = exp %d : [t] f32[B, T-t]
%s = sum{axes=(1,)} %e : [t] f32[B]
%r = expand_dims{axis=1} %s : [t] f32[B, 1]
%p = div %e, %r : [t] f32[B, T-t]
%o = einsum{spec="bt,ti->ib"} %p, %y[t:T] : [t] f32[3, B]
%g = log %s : [t] f32[B]
%l = add %g, %m : [t] f32[B]
output o = %o[0:T]
output l = %l[0:T]
""",
    "columns of what is cut along keys, as in derivatives": """
%z = matmul %y[0:t+1], %y : [t*] f32[t+1]
%e = exp %z : [t*] f32[t+1]
%p = pad{widths=((0, T-1-t),)} %e : [t*] f32[T]
%g = getitem{entries=((0, T-t, 1), t)} %p[t:T] : [t*] f32[T-t]
%o = matmul %g, %y[t:T] : [t*] f32[3]
output o = %o[0:T]
""",
    "a sum of squares does not run along": """
%z = exp %y[0:T] : [] f32[T, 3]
%m = max{axes=(0,), keepdims=true} %z : [] f32[1, 3]
%d = sub %z, %m : [] f32[T, 3]
%e = exp %d : [] f32[T, 3]
%q = mul %e, %e : [] f32[T, 3]
%s = sum{axes=(0,)} %q : [] f32[3]
output s = %s
""",
    "logarithms of sums, for each row of a batch": """
%z = exp %x[b, 0:T] : [b] f32[T, 3]
%l = logsumexp{axes=(0,)} %z : [b] f32[3]
output l = %l[0:B]
""",
    "what does not vary with a loop is made again in it": """
%h = tanh %y[0:T] : [] f32[T, 3]
%z = mul %h, %x[b, 0:T] : [b] f32[T, 3]
%s = sum{axes=(0,)} %z : [b] f32[3]
output s = %s[0:B]
""",
    "points that are computed at once": """
%h = tanh %y : [t*] f32[3]
%z = matmul %h, %w : [t*] f32[4]
%e = logsumexp{axes=(-1,)} %z : [t*] f32
%g = mul %h, %e : [t*] f32[3]
%m = mean %e[0:T] : [] f32
%u = einsum{spec="ti,tj->ij"} %z[0:T], %g[0:T] : [] f32[4, 3]
output m = %m
output u = %u
output g = %g[0:T]
""",
    "the second axis of two": """
%z = exp %x[0:B, 0:T] : [] f32[B, T, 3]
%c = cumsum{axis=0} %z : [] f32[B, T, 3]
%s = sum{axes=(1,)} %c : [] f32[B, 3]
output s = %s
""",
}
LEFT = {
    "a slice is no tensor of its own": "%s = sum{axes=(0,)} %y[0:T] : [] f32[3]",
    "the axis comes from no slice": """%o = full{shape=(T, 3), value=1.0, dtype=f32} : [] f32[T, 3]
%p = exp %o : [] f32[T, 3]
%s = sum{axes=(0,)} %p : [] f32[3]""",
    "all of it is needed": """%z = exp %y[0:T] : [] f32[T, 3]
%c = cumsum{axis=0} %z : [] f32[T, 3]
%s = getitem{entries=(0, (0, 3, 1))} %c : [] f32[3]""",
    "all of it is a result": """%z = exp %y[0:T] : [] f32[T, 3]
%s = sum{axes=(0,)} %z : [] f32[3]
output z = %z""",
    "there is no way to combine variances": """%z = exp %y[0:T] : [] f32[T, 3]
%s = var{axes=(0,)} %z : [] f32[3]""",
}


def tiled(before: Graph, options: Tile) -> tuple[Graph, list[str]]:
    """The graph after the pass, verified, and its remarks; it means the same up to rounding."""
    context = PassContext(Space(before.universe))
    after = options.run(before, context)
    verify(after, context.space, after="tile")
    for size in (*SIZES, 4, 6, 7):
        wanted, found = meaning(before, size), meaning(after, size)
        assert list(wanted) == list(found)
        for name, value in wanted.items():
            assert value.dtype == found[name].dtype
            np.testing.assert_allclose(
                found[name], value, rtol=2e-5, atol=1e-6, err_msg=f"{name}, {size}"
            )
    return after, [r.message for r in context.remarks.entries]


def test_tensors_that_are_cut(golden: Golden) -> None:
    parts = []
    for name, text in MADE.items():
        after, said = tiled(graph(HEAD + text), Tile(size=3))
        assert said
        shown = show(after, sources=False).split("\n", 1)[1]
        parts.append(f"## {name}\n\n{shown}" + "".join(f"# tile: {s}\n" for s in said))
    golden("passes/tile.txt", "\n".join(parts))


@pytest.mark.parametrize("name", LEFT)
def test_tensors_that_stay(name: str) -> None:
    before = graph(f"{HEAD}{LEFT[name]}\noutput s = %s\n")
    assert tiled(before, Tile(size=3))[0] == before


def test_nothing_is_cut_that_fits() -> None:
    before = graph(HEAD + MADE["a mean of what is computed for each row"])
    fits = 4 * 4 * MODEL.unknown_bound
    assert tiled(before, Tile(limit=fits)) == (before, [])
    after, said = tiled(before, Tile(limit=fits - 1))
    assert after != before
    assert said == ["`z` would take 16 bytes*T; computed 256 rows at a time"]


def test_recurrences_are_not_cut_by_a_guess() -> None:
    before = graph("""
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(3000,)} : [b, t] f32[3000]
%h = recurrence{steps=((add{}, (0, 1), (f32,)),), carried=(2,), starts=(1,), count=T-1} %x[b, 0], %x[b, 0:T] : [b*] f32[T, 3000]
%e = exp %h : [b*] f32[T, 3000]
%s = sum %e : [b*] f32
%m = sum %s[0:B] : [] f32
output m = %m
""")  # fmt: skip  # noqa: E501
    assert tiled(before, Tile())[0] == before
    assert tiled(before, Tile(limit=MODEL.array_bytes - 1))[0] != before


def test_ranges_in_one_kernel_are_left_to_its_batches() -> None:
    before = graph(text_of(100, "attention to a prefix, for all points at once"))
    assert tiled(before, Tile(limit=400)) == (before, [])
    said = tiled(before, Tile(limit=399, least=1))[1]
    assert said == []  # a tile of 512 rows is no smaller
    long = graph(text_of(1000, "attention to a prefix, for all points at once"))
    said = tiled(long, Tile(limit=3999))[1]
    assert said[0] == "`z` would take 4 bytes*T^2; computed 512 rows at a time"


def test_columns_that_another_kernel_reads_are_cut() -> None:
    name = "columns of what is cut along keys, as in derivatives"
    before = graph(text_of(1000, name))
    assert tiled(before, Tile(limit=1000 * 1000))[0] == before
    assert tiled(before, Tile(limit=1000 * 1000 - 1))[0] != before


def text_of(most: int, name: str) -> str:
    """A case in which ``T`` is not greater than that."""
    return HEAD.replace("dim b < B", f"assume T <= {most}\ndim b < B", 1) + MADE[name]


def test_tiles_do_not_become_too_small() -> None:
    before = graph(HEAD + MADE["a mean of what is computed for each row"])
    said = tiled(before, Tile(limit=1))[1]
    assert said[0] == "`z` would take 16 bytes*T; computed 16 rows at a time"


def test_what_is_known_of_bounds_counts() -> None:
    text = HEAD + MADE["a mean of what is computed for each row"]
    small = graph(text.replace("dim b < B", "assume T <= 100\ndim b < B"))
    assert tiled(small, Tile(limit=1600))[0] == small
    assert tiled(small, Tile(limit=1599))[0] != small


def test_what_stays_large_is_said() -> None:
    before = graph(f"{HEAD}{LEFT['all of it is needed']}\noutput s = %s\n")
    said = tiled(before, Tile(limit=1000))[1]
    assert said == ["`z` takes 12 bytes*T: `z`, which is as large, is needed as a whole"]


def test_scores_of_a_step_are_not_cut_where_the_keys_of_all_steps_are_stored() -> None:
    text = """bound B
bound T
assume T <= 8192
dim b < B
dim t < T
%v = input{dtype=f32, shape=(WIDTH,)} : [b, t] f32[WIDTH]
%w = param{template="w", dtype=f32, shape=(8, WIDTH)} : [] f32[8, WIDTH]
%g.0 = copy %v[b, 0] : [b*] f32[WIDTH]
%g.1 = tanh %a[b, t-1] : [b*, t | t >= 1] f32[WIDTH]
%g = merge{targets=((b, 0), (b, t))} %g.0 when t == 0, %g.1 when t >= 1 : [b, t] f32[WIDTH]
%h = tanh %g : [b*, t] f32[WIDTH]
%s = einsum{spec="sd,kd->sk"} %h[b, 0:t+1], %w : [b*, t] f32[t+1, 8]
%a = einsum{spec="sk,sd->d"} %s, %h[b, 0:t+1] : [b*, t] f32[WIDTH]
output a = %a[0:B, T-1]
"""
    wide = graph(text.replace("WIDTH", "8"))
    assert tiled(wide, Tile())[0] == wide
    assert tiled(wide, Tile(limit=MODEL.array_bytes - 1))[0] != wide
    narrow = graph(text.replace("WIDTH", "4"))
    assert tiled(narrow, Tile())[0] != narrow


def test_tiles_that_are_asked_for_read_operands_of_any_size() -> None:
    before = graph(f"""{HEAD}%v = input{{dtype=f32, shape=(32,)}} : [b, t] f32[32]
%g.0 = copy %v[b, 0] : [b*] f32[32]
%g.1 = tanh %a[b, t-1] : [b*, t | t >= 1] f32[32]
%g = merge{{targets=((b, 0), (b, t))}} %g.0 when t == 0, %g.1 when t >= 1 : [b, t] f32[32]
%h = tanh %g : [b*, t] f32[32]
%s = matmul %h[b, 0:t+1], %v : [b*, t] f32[t+1]
%a = matmul %s, %h[b, 0:t+1] : [b*, t] f32[32]
output a = %a[0:B, T-1]
""")
    assert any(
        n.domain.dims[-1:] == ("tile",) for n in tiled(before, Tile(size=3))[0].nodes.values()
    )


def test_sizes() -> None:
    found = graph(
        "bound T\nbound P\nbound N = (T+3)//4\ndim t < T\ndim p < P\ndim n < N\n"
        "assume P <= T\nassume T+2 <= 66\n%x = input{dtype=f16, shape=(3, T)} : [t] f16[3, T]\n"
        "output x = %x[0:T]"
    )
    at = estimated_sizes(found.universe)
    assert at == {"T": 64, "P": 64, "N": 16, "t": 63, "p": 63, "n": 15}
    (type_,) = found.nodes["x"].types
    assert bytes_of(type_, at) == 3 * 64 * 2
    assert size_formula(type_) == "6 bytes*T"
