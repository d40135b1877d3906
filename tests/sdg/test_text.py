"""The text of a graph and back: exact, deterministic, with errors that say where."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.convolution import Conv
from tempoc.ops.tensor.movement import Pad
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Arange, Literal, Param
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.text.text import show, show_op
from tempoc.symbolic.expr import Const, Sym

TEXT = """\
sdg "a strange name"
doc "Two lines,\\n\\"quoted\\"."
bound T
bound N = (T+3)//4
bound L = 30
dim t < T
dim n < N
dim l < L
assume 2*N <= T or T == 1

%x     = input{dtype=f32, shape=(8, T)} : [t]        f32[8, T]
%W     = param{template="W.{l}", dtype=bf16, shape=(8, 8)} : [l]        bf16[8, 8]
%i     = index{expr=max(0, t-3)}        : [t]        i32
%c     = index{expr=t % 2 == 1 or t+n < T and l >= 1} : [t, n, l]  bool
%half  = literal{value=0.5, dtype=f32, weak=true} : []         ~f32
%none  = literal{value=-inf, dtype=f32} : []         f32
%odd   = literal{value=nan, dtype=f64}  : []         f64
%tiny  = literal{value=1e-30, dtype=f32} : []         f32
%true  = literal{value=true, dtype=bool} : []         bool
%h.0   = sum{keepdims=true} %x[0]       : []         f32[1, 1]
%h.1   = copy %h                        : [t | t+1 < T] f32[1, 1]
%h     = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32[1, 1]
%top   = top_k{k=2} %x[0:T:2, t]        : [t]        f32[2], i32[2]
%pad   = pad{widths=((0, t), (1, 1))} %x : [t]        f32[t+8, T+2]
%y     = mul %half, %top@1              : [t]        f32[2]
%e     = einsum{spec="ij,jk->ik"} %W[29], %x : [t]        f32[8, T]

output y = %y[0:T]
output "net.0" = %top@1[T-1]
output half = %half

group one = %i
group "net.w" = %c, %half
"""


def test_a_text_comes_back() -> None:
    graph = parse_graph(TEXT.replace("%x[0:T:2, t]", "%x[0:T:2]"), "test.sdg")
    text = show(graph, sources=False)
    again = parse_graph(text, "other.sdg")
    assert show(again, sources=False) == text
    nan = {"odd": graph.nodes["odd"]}  # not equal to itself
    assert replace(again, nodes={**again.nodes, **nan}) == graph
    assert graph.doc == 'Two lines,\n"quoted".'
    assert graph.outputs[1].out == 1
    assert graph.groups[1].members == ("c", "half")


@pytest.mark.parametrize(
    "op",
    [
        Pad(widths=((Const(0), Sym("t") + 1), (Const(1), Const(0))), value=-0.0),
        Reshape(shape=(Const(-1), Sym("T") * Sym("T"))),
        SpatialIndex(entries=("tensor", Sym("t"), (Const(0), Sym("T"), 2), Const(-1))),
        Conv(stride=2, padding="same"),
        Sum(axes=None, keepdims=True),
        Sum(axes=()),
        Arange(stop=Sym("T"), step=-1, dtype=DType.F16),
        Literal(value=True, dtype=DType.BOOL),
        Literal(value=-1, dtype=DType.I64),
        Literal(value=1e20, dtype=DType.F64),
        Literal(value=-math.inf, dtype=DType.BF16),
        Param(template='a "b" {l}', dtype=DType.KEY),
    ],
    ids=repr,
)
def test_attributes_come_back(op: Op) -> None:
    text = f"sdg a\nbound T\ndim t < T\n%a = {show_op(op)} : [t] f32\n"
    found = parse_graph(text, "a.sdg").nodes["a"].op
    assert repr(found) == repr(op)


def test_comments_name_the_source() -> None:
    graph = parse_graph("sdg a\ndim t < T\nbound T\n%x = input{dtype=f32} : [t] f32\n", "a.sdg")
    line = show(graph).splitlines()[-1]
    assert line == "%x = input{dtype=f32} : [t] f32  # a.sdg:4"
    source = Source("dir/b.rt", "one\ntwo\nthree\n")
    spans = (source.span(0, 3), source.span(4, 7), source.span(5, 6))
    node = replace(graph.nodes["x"], spans=(*graph.nodes["x"].spans, *spans))
    shown = show(replace(graph, nodes={"x": node}))
    assert shown.splitlines()[-1].endswith("# a.sdg:4, b.rt:1, 2")


def test_words_of_the_format_may_be_names() -> None:
    text = "sdg a\nbound group\ndim dim < group\n%sdg = index{expr=dim+group} : [dim] i32\n"
    graph = parse_graph(text, "a.sdg")
    assert parse_graph(show(graph), "b.sdg") == graph


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("%a = add %x %x : [t] f32", "RT300", "`%x` does not fit"),
        ("%a = add %x, %x : [t f32", "RT300", "`f32` does not fit"),
        ("%a = ad %x, %x : [t] f32", "RT301", "no operator `ad`"),
        ("%a = add %x, %y : [t] f32", "RT301", "no node `%y`"),
        ("%a = add %x, %x : [s] f32", "RT301", "no dimension `s`"),
        ("%a = add %x, %x : [t] f31", "RT301", "no dtype `f31`"),
        ("%a = sum{axis=1} %x : [t] f32", "RT301", "no attribute `axis`"),
        ("%a = sum{axes=1} %x : [t] f32", "RT301", "`1` is no"),
        ("%a = cast{dtype=f31} %x : [t] f32", "RT301", "`f31` is no DType"),
        ("%a = cast %x : [t] f32", "RT301", "`cast`: "),
        ("%a = neg %x[t+] : [t] f32", "RT301", ""),
        ("%x = neg %x : [t] f32", "RT301", "two nodes `%x`"),
        ("output a = %z", "RT301", "no node `%z`"),
        ("group a = %x, %z", "RT301", "no node `%z`"),
        (r'group "\u00" = %x', "RT301", r'"\u00" is no text of JSON'),
        (r'doc "\x"', "RT301", r'"\x" is no text of JSON'),
        ("?", "RT300", "`?` does not fit"),
    ],
)
def test_wrong_texts(line: str, code: str, words: str) -> None:
    text = f"sdg a\nbound T\ndim t < T\n%x = input{{dtype=f32}} : [t] f32\n{line}\n"
    with pytest.raises(DiagnosticError) as caught:
        parse_graph(text, "a.sdg")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert words in diagnostic.message
    assert diagnostic.primary is not None and diagnostic.primary.span.line == 5
