"""What products unpack themselves, what stays stored, and that nothing changes its meaning."""

from __future__ import annotations

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.memory.unpack import Unpack
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.golden import Golden

HEAD = """
bound L
bound T
dim t < T
dim l < L
%q = param{template="q", dtype=i8, shape=(3, 4)} : [l] i8[3, 4]
%s = input{dtype=f32, shape=(3, 1)} : [l] f32[3, 1]
%x = input{dtype=f32, shape=(4,)} : [t, l] f32[4]
%z = input{dtype=f32, shape=(3,)} : [t, l] f32[3]
"""
CAST = "%w = cast{dtype=f32} %q : [l] f32[3, 4]\n"
PRODUCT = "%y = matmul %w, %x : [t, l] f32[3]\n"
OUT = "output y = %y[0:T, 0:L]\n"
UNPACKED = {
    "a cast": CAST + PRODUCT + OUT,
    "two products, one of them on the other side": f"""{CAST}{PRODUCT}{OUT}
%v = matmul %z, %w : [t, l] f32[4]
output v = %v[0:T, 0:L]
""",
    "steps with a scale, of other layers": f"""%c = cast{{dtype=f32}} %q : [l] f32[3, 4]
%w = mul %c, %s[l] : [l] f32[3, 4]
%y = matmul %w[L-1-l], %x : [t, l] f32[3]
{OUT}""",
    "halves of a byte": f"""%u = input{{dtype=u8, shape=(3, 8)}} : [] u8[3, 8]
%i = literal{{value=16, dtype=u8}} : [] u8
%a = mod %u, %i : [] u8[3, 8]
%b = floordiv %u, %i : [] u8[3, 8]
%n = stack{{axis=2}} %a, %b : [] u8[3, 8, 2]
%r = reshape{{shape=(12, 4)}} %n : [] u8[12, 4]
%w = cast{{dtype=f32}} %r : [] f32[12, 4]
%y = einsum{{spec="ij,j->i"}} %w, %x : [t, l] f32[12]
{OUT}""",
}
STORED = {
    "a result": f"{CAST}{PRODUCT}{OUT}output w = %w[0:L]\n",
    "another reader": f"""{CAST}{PRODUCT}{OUT}
%m = max %w : [l] f32
output m = %m[0:L]
""",
    "all at once": f"""{CAST}{PRODUCT}{OUT}
%a = einsum{{spec="lij,j->li"}} %w[0:L], %x : [t, l] f32[L, 3]
output a = %a[0:T, 0:L]
""",
    "no fewer bytes": f"""%i = input{{dtype=i32, shape=(3, 4)}} : [l] i32[3, 4]
%w = cast{{dtype=f32}} %i : [l] f32[3, 4]
{PRODUCT}{OUT}""",
    "other points have others": f"""%i = input{{dtype=i8, shape=(3, 4)}} : [t, l] i8[3, 4]
%w = cast{{dtype=f32}} %i : [t, l] f32[3, 4]
{PRODUCT}{OUT}""",
    "of something computed": f"""%e = exp %s : [l] f32[3, 1]
%o = literal{{value=1.0, dtype=f32}} : [] f32
%w = broadcast_to{{shape=(3, 4)}} %e : [l] f32[3, 4]
%m = sum{{axes=(1,), keepdims=true}} %w : [l] f32[3, 1]
%v = broadcast_to{{shape=(3, 4)}} %m : [l] f32[3, 4]
%y = matmul %v, %x : [t, l] f32[3]
{OUT}""",
    "of the point": f"""%i = index{{expr=l}} : [l] i32
%c = mul %q, %i : [l] i32[3, 4]
%w = cast{{dtype=f32}} %c : [l] f32[3, 4]
{PRODUCT}{OUT}""",
}


def test_unpack(golden: Golden) -> None:
    story = Story()
    for name, text in UNPACKED.items():
        outcome = story.tell(name, HEAD + text, Unpack(least=1))
        assert any(r.step == "unpack" for r in outcome.remarks), name
    golden("passes/unpack.txt", story.text)


@pytest.mark.parametrize("name", UNPACKED)
def test_the_product_reads_what_is_packed(name: str) -> None:
    before = graph(HEAD + UNPACKED[name])
    after = Unpack(least=1).run(before, PassContext(Space(before.universe)))
    assert "w" in before.nodes and "w" not in after.nodes
    assert_same(before, after)


@pytest.mark.parametrize("name", STORED)
def test_what_stays_stored(name: str) -> None:
    before = graph(HEAD + STORED[name])
    assert Unpack(least=1).run(before, PassContext(Space(before.universe))) is before


def test_small_values_stay_stored() -> None:
    before = graph(HEAD + UNPACKED["a cast"])
    assert Unpack().run(before, PassContext(Space(before.universe))) is before
