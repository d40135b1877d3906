"""What tensors are made of, where that is smaller."""

from __future__ import annotations

from tempoc.passes.analysis.expansion import expanding_nodes, origin_sizes, sums_products
from tests.support.generators.graphs import graph

HEAD = """
bound T
dim t < T
%x = input{dtype=f32, shape=(32,)} : [t] f32[32]
%w = input{dtype=f32, shape=(32, 16)} : [] f32[32, 16]
"""
MADE = """
%outer = einsum{spec="i,j->ij"} %x, %x : [t] f32[32, 32]
%grown = exp %outer : [t] f32[32, 32]
%column = expand_dims{axis=1} %x : [t] f32[32, 1]
%scaled = mul %column, %w : [t] f32[32, 16]
%summed = matmul %x, %w : [t] f32[16]
%fixed = exp %w : [] f32[32, 16]
output g = %grown[T-1]
output s = %scaled[T-1]
output m = %summed[T-1]
output f = %fixed
"""


def test_what_is_made_of_less() -> None:
    made = graph(HEAD + MADE)
    origins = origin_sizes(made, "t")
    assert (origins["outer"], origins["grown"], origins["scaled"]) == (32, 32, 32)
    assert (origins["summed"], origins["fixed"], origins["x"]) == (None, 0, None)
    assert expanding_nodes(made, "t") == {"outer", "grown", "scaled"}
    contractions = [n.name for n in made.nodes.values() if sums_products(made, n)]
    assert contractions == ["summed"]


def test_a_long_chain() -> None:
    """Longer than Python's stack is deep."""
    steps = [f"%a{k} = sin %a{k - 1} : [t] f32[32, 32]" for k in range(1, 1500)]
    first = '%a0 = einsum{spec="i,j->ij"} %x, %x : [t] f32[32, 32]'
    chain = graph("\n".join([HEAD, first, *steps, "output a = %a1499[T-1]\n"]))
    assert len(expanding_nodes(chain, "t")) == 1500
