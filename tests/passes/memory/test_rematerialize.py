"""Values rematerialized instead of stored: which, when, and the proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, note, strategies as st

from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.driver.pipelines import O2
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.fusion.fuse import Fuse
from tempoc.passes.memory.rematerialize import Rematerialize, is_rematerialized
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.deep import networks
from tests.support.generators.graphs import Story, data, graph
from tests.support.generators.settings import generated
from tests.support.golden import Golden

FORMS = (
    Rematerialize(),
    Rematerialize(segments=99),
    Rematerialize(segments=3),
    Rematerialize(work=False),
)
HEAD = """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(4,)} : [b] f32[4]
%w = param{template="w", dtype=f32, shape=(4, 4)} : [] f32[4, 4]
%v = param{template="v", dtype=f32, shape=(4, 4)} : [] f32[4, 4]
"""


def network(layer: str, count: int) -> str:
    """Layers that make ``a1`` of ``a0``, and so on; gradients of what they are multiplied with."""
    lines = ["%a0 = copy %x : [b*] f32[4]"]
    for k in range(1, count + 1):
        lines += [
            f"%z{k} = matmul %w, %a{k - 1} : [b*] f32[4]",
            f"%a{k} = {layer.format(z=f'%z{k}', a=f'%a{k - 1}')} : [b*] f32[4]",
        ]
    lines += [f"%l = sum %a{count}[0:B] : [] f32", f"%d{count} = exp %a{count} : [b*] f32[4]"]
    outputs = ["output l = %l"]
    for k in range(count, 0, -1):
        spec = 'einsum{spec="bi,bj->ij"}'
        lines += [
            f"%c{k} = cos %a{k} : [b*] f32[4]",
            f"%e{k} = mul %d{k}, %c{k} : [b*] f32[4]",
            f"%g{k} = {spec} %e{k}[0:B], %a{k - 1}[0:B] : [] f32[4, 4]",
            f"%d{k - 1} = matmul %e{k}, %w : [b*] f32[4]",
        ]
        outputs.append(f"output g{k} = %g{k}")
    return "\n".join([*lines, *outputs, ""])


MASK = """
%seed = seed : [] key[2]
%key = random_key{place=7, at=(b)} %seed : [b*] key[2]
%m = uniform{shape=(4,)} %key : [b*] f32[4]
"""
MADE = {
    "layers in segments": HEAD + network("tanh {z}", 5),
    "layers with what goes around them": HEAD + network("add {z}, {a}", 5),
    "a mask of random numbers is drawn again": HEAD + MASK + network("mul {z}, %m", 3),
    "attention to a prefix": HEAD
    + """
%y = input{dtype=f32, shape=(4,)} : [t] f32[4]
%q = matmul %w, %y : [t*] f32[4]
%p = matmul %q[0:t+1], %q : [t*] f32[t+1]
%n = exp %p : [t*] f32[t+1]
%a = matmul %n, %q[0:t+1] : [t*] f32[4]
%h = matmul %v, %a : [t*] f32[4]
%l = sum %h[0:T] : [] f32
%da = matmul %h, %v : [t*] f32[4]
%dn = matmul %q[0:t+1], %da : [t*] f32[t+1]
%dp = mul %dn, %n : [t*] f32[t+1]
%g = matmul %dp, %q[0:t+1] : [t*] f32[4]
output l = %l
output g = %g[0:T]
""",
}
LEFT = {
    "nothing is read behind the peak": "%a = tanh %x : [b*] f32[4]\n%s = sum %a[0:B] : [] f32\n"
    "output s = %s\n",
    "a sum of what follows from it": "%k = input{dtype=f32, shape=(4,)} : [t] f32[4]\n"
    "%s = sum %c[0:t] : [t] f32\n%c = add %k, %s : [t] f32[4]\noutput c = %c[0:T]\n",
    "a function of the user makes it": network("tanh {z}", 2).replace(
        "tanh %z1",
        'extern_jax{extern="f", module="m", function="f", arguments=("f32[4]"), results=("f32[4]"),'
        " free=()} %z1",
    ),
}


def test_what_is_made_again(golden: Golden) -> None:
    story = Story()
    for name, text in MADE.items():
        after = story.tell(name, text, Rematerialize()).graph
        assert is_rematerialized(after), name
    golden("passes/recompute.txt", story.text)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_kept(name: str) -> None:
    before = graph(HEAD + LEFT[name])
    assert Rematerialize(segments=9).run(before, PassContext(Space(before.universe))) == before


@given(text=networks(), options=st.sampled_from(FORMS))
@generated(1, long=4)
def test_generated_networks_mean_the_same(text: str, options: Rematerialize) -> None:
    """All passes before, clones, kernels; as the evaluator says, with and without."""
    note(text)
    before = elaborate(load_source(Source("generated.rt", text)), {})
    context = PassContext(Space(before.universe))
    earlier = run_pipeline(before, O2[:-1], context).graph
    after = options.run(earlier, context)
    verify(after, context.space, after="recompute")
    fused = Fuse().run(after, context)
    verify(fused, context.space, after="fuse")
    assert parse_graph(show(fused), "generated.sdg") == fused
    for bounds in ({"B": 2, "T": size} for size in (1, 2, 3, 5, 8)):
        given = data(earlier, bounds)
        wanted, found = (evaluate(g, bounds, given, {}) for g in (earlier, fused))
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name], value, err_msg=f"{name}, {bounds}")
