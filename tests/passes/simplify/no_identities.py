"""Programs in which an identity seems to hold and does not, named as in ``identities.py``."""

from __future__ import annotations

SILENT = {
    "a promise of one end": """%n = index{expr=t} : [t] i32
%n2 = minimum %k, %n : [t] i32
%a = pick{lo=0, hi=t+1} %s[0:t+1], %n2 : [t] f32""",
    "a promise at another point": """%n = literal{value=0, dtype=i32} : [] i32
%n2 = index{expr=t} : [t] i32
%n3 = clip %k, %n, %n2 : [t] i32
%a = pick{lo=0, hi=t+1} %s[0:t+1], %n3[T-1] : [t] f32""",
    "a product with all of them is another one": """%n = literal{value=3, dtype=i32} : [] i32
%n2 = mod %k, %n : [t] i32
%n3 = pick{lo=0, hi=E, sure=true} %V[0:E], %n2 : [t] f32[2, 3]
%a = matmul %n3, %W : [t] f32[2, 4]""",
    "elements at places in ranges that move": """%n = argsort{axis=0} %r : [t] i32[3]
%n2 = one_hot{n=4, dtype=bool} %n : [t] bool[3, 4]
%n3 = expand_dims{axis=1} %r : [t] f32[3, 1]
%n4 = where %n2, %n3, %zero : [t] f32[3, 4]
%a = sum{axes=(0, 1)} %n4[t:T] : [t] f32[4]""",
    "elements at places that others read": """%n = argsort{axis=0} %r : [t] i32[3]
%n2 = one_hot{n=4, dtype=bool} %n : [t] bool[3, 4]
%n3 = expand_dims{axis=1} %r : [t] f32[3, 1]
%n4 = where %n2, %n3, %zero : [t] f32[3, 4]
%a = sum{axes=(0, 1)} %n4[0:T] : [] f32[4]
%b = sum{axes=(0, 1)} %n4 : [t] f32""",
    "sums at many positions": """%n = mod %k, %bins : [t] i32
%n2 = sum{axes=(1,)} %x : [t] f32[2]
%n3 = einsum{spec="i,k->ik"} %r, %n2 : [t] f32[3, 2]
%a = scatter_add{axis=0, n=90, sure=true} %n3[0:T], %n[0:T] : [] f32[90, 3, 2]""",
    "a zero of the other sign": "%a = add %x, %zero : [t] f32[2, 3]",
    "minus a zero of the other sign": "%a = sub %x, %minus : [t] f32[2, 3]",
    "zero times a number that may not be finite": "%a = mul %x, %zero : [t] f32[2, 3]",
    "a number minus itself": "%a = sub %x, %x : [t] f32[2, 3]",
    "whole division gives floats": "%a = div %k, %unit : [t] f32",
    "a cast that loses": """%n = cast{dtype=f16} %x : [t] f16[2, 3]
%a = cast{dtype=f32} %n : [t] f32[2, 3]""",
    "zero minus a number": "%a = sub %zero, %x : [t] f32[2, 3]",
    "two reads of different points": "%a = maximum %x, %x[T-1-t] : [t] f32[2, 3]",
    "a number divided by three": "%a = div %x, %three : [t] f32[2, 3]",
    "the opposite of less, where NaN is neither": """%n = lt %s, %u : [t] bool
%a = not %n : [t] bool""",
    "a number that equals itself unless it is NaN": "%a = eq %s, %s : [t] bool",
    "an exponential of a logarithm, which has no negative": """%n = log %x : [t] f32[2, 3]
%a = exp %n : [t] f32[2, 3]""",
    "logarithms whose product may overflow": """%n = log %x : [t] f32[2, 3]
%n2 = log %y : [t] f32[2, 3]
%a = add %n, %n2 : [t] f32[2, 3]""",
    "a sum of what may be nothing": """%n = broadcast_to{shape=(t, 3)} %r : [t] f32[t, 3]
%a = sum{axes=(0,)} %n : [t] f32[3]""",
    "a sum of what is read at positions": """%n = cast{dtype=i32} %c : [t] i32
%n2 = broadcast_to{shape=(5,)} %n : [t] i32[5]
%n3 = getitem{entries=("tensor", (0, 3, 1)), sure=true} %x, %n2 : [t] f32[5, 3]
%a = sum{axes=(0,)} %n3 : [t] f32[3]""",
    "positions along an axis of theirs": """%n = max{axes=(1,), keepdims=true} %x : [t] f32[2, 1]
%n2 = argsort{axis=0} %n : [t] i32[2, 1]
%n3 = broadcast_to{shape=(2, 3)} %n2 : [t] i32[2, 3]
%a = take_along{axis=0, sure=true} %n, %n3 : [t] f32[2, 3]""",
    "a transposed and a plain operand": """%n = transpose %x : [t] f32[3, 2]
%n2 = reshape{shape=(3, 2)} %y : [t] f32[3, 2]
%a = add %n, %n2 : [t] f32[3, 2]""",
    "products of which one is read elsewhere": """%n = mul %x, %y : [t] f32[2, 3]
%n2 = mul %x, %z : [t] f32[2, 3]
%a = add %n, %n2 : [t] f32[2, 3]
%b = neg %n : [t] f32[2, 3]""",
    "a part of what lies across two": """%n = concat{axis=1} %x, %y : [t] f32[2, 6]
%a = getitem{entries=((0, 2, 1), (2, 2, 1))} %n : [t] f32[2, 2]""",
    "a small table": """%n = full{shape=(7,), value=0.0, dtype=f32} : [] f32[7]
%n2 = arange{stop=7} : [] i32[7]
%n3 = eq %n2, %k : [t | t < T-1] bool[7]
%n4 = where %n3, %s, %a : [t | t < T-1] f32[7]
%a = merge{targets=((0,), (t+1,))} %n when t == 0, %n4[t-1] when t-1 >= 0 : [t] f32[7]""",
    "what several equations define, but is no state": """\
%n = full{shape=(70,), value=0.0, dtype=f32} : [] f32[70]
%n2 = broadcast_to{shape=(70,)} %s : [t] f32[70]
%n3 = merge{targets=((0,), (t+1,))} %n when t == 0, %n2[t-1] when t-1 >= 0 : [t] f32[70]
%n4 = arange{stop=70} : [] i32[70]
%n5 = eq %n4, %k : [t] bool[70]
%a = where %n5, %u, %n3 : [t] f32[70]""",
    "paddings added that leave a place, or share one": """\
%n = pad{widths=((3, 1),)} %r : [t] f32[7]
%n2 = pad{widths=((0, 4),)} %r : [t] f32[7]
%a = add %n, %n2 : [t] f32[7]
%n3 = pad{widths=((2, 0),)} %r : [t] f32[5]
%n4 = pad{widths=((0, 2),)} %r : [t] f32[5]
%b = add %n3, %n4 : [t] f32[5]""",
    "shares of what varies along the axis that is summed": """\
%A = param{template="A", dtype=f32, shape=(3, 3)} : [] f32[3, 3]
%n = exp %A : [] f32[3, 3]
%n2 = div %n, %r : [t] f32[3, 3]
%b = neg %n2 : [t] f32[3, 3]
%n3 = div %A, %r : [t] f32[3, 3]
%n4 = mul %n3, %n2 : [t] f32[3, 3]
%n5 = sum{axes=(1,)} %n4 : [t] f32[3]
%n6 = sub %n3, %n5 : [t] f32[3, 3]
%a = mul %n6, %n : [t] f32[3, 3]""",
    "the middle of what is sorted, and ends that others read, too": """\
%n = sort %big : [t] f32[130]
%a = getitem{entries=(65,)} %n : [t] f32
%n2 = sort %big : [t] f32[130]
%b = getitem{entries=(129,)} %n2 : [t] f32
%d = getitem{entries=(64,)} %n2 : [t] f32
%n3 = sort %big : [t] f32[130]
%f = getitem{entries=((0, 2, 129),)} %n3 : [t] f32[2]""",
    "sums of what is elsewhere, too": """\
%n = arange{stop=130} : [] i32[130]
%n2 = eq %n, %k : [t] bool[130]
%n3 = where %n2, %big, %one : [t] f32[130]
%a = sum %n3 : [t] f32
%n4 = ne %n, %k : [t] bool[130]
%n5 = where %n4, %big, %zero : [t] f32[130]
%b = sum %n5 : [t] f32""",
    "a narrow range": """%n = cast{dtype=f16} %x : [t] f16[2, 3]
%n2 = cast{dtype=f16} %s : [t] f16
%n3 = mul %n, %n2 : [t] f16[2, 3]
%a = sum %n3 : [t] f16""",
}
"""What looks like an identity and is none."""
