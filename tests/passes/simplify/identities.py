"""Programs for each row of the table of identities: one or more nodes to which it applies.

Nodes called ``%n``, ``%n2``, ... only help; the others are outputs."""

from __future__ import annotations

HEAD = """
bound T
bound E = 3
dim t < T
dim j < T
dim e < E
%x = input{dtype=f32, shape=(2, 3)} : [t] f32[2, 3]
%y = input{dtype=f32, shape=(2, 3)} : [t] f32[2, 3]
%z = input{dtype=f32, shape=(2, 3)} : [t] f32[2, 3]
%r = input{dtype=f32, shape=(3,)} : [t] f32[3]
%s = input{dtype=f32} : [t] f32
%big = input{dtype=f32, shape=(130,)} : [t] f32[130]
%u = input{dtype=f32} : [t] f32
%k = input{dtype=i32} : [t] i32
%c = input{dtype=bool} : [t] bool
%W = param{template="W", dtype=f32, shape=(3, 4)} : [] f32[3, 4]
%V = param{template="V", dtype=f32, shape=(2, 3)} : [e] f32[2, 3]
%zero = literal{value=0.0, dtype=f32} : [] f32
%minus = literal{value=-0.0, dtype=f32} : [] f32
%one = literal{value=1.0, dtype=f32} : [] f32
%two = literal{value=2.0, dtype=f32} : [] f32
%three = literal{value=3.0, dtype=f32} : [] f32
%four = literal{value=4.0, dtype=f32} : [] f32
%back = literal{value=-2.0, dtype=f32} : [] f32
%eight = literal{value=8.0, dtype=f32} : [] f32
%less = literal{value=-1.0, dtype=f32} : [] f32
%most = literal{value=inf, dtype=f32} : [] f32
%none = literal{value=0, dtype=i32} : [] i32
%unit = literal{value=1, dtype=i32} : [] i32
%bins = literal{value=8, dtype=i32} : [] i32
%yes = literal{value=true, dtype=bool} : [] bool
"""

EXACT = {
    "x + 0 = x": """%a = add %none, %k : [t] i32
%b = add %x, %minus : [t] f32[2, 3]""",
    "x - 0 = x": "%a = sub %x, %zero : [t] f32[2, 3]",
    "x * 1 = x": "%a = mul %one, %x : [t] f32[2, 3]",
    "x / 1 = x": "%a = div %x, %one : [t] f32[2, 3]",
    "x ** 1 = x": "%a = power %k, %unit : [t] i32",
    "whole x * 0 = 0": "%a = mul %k, %none : [t] i32",
    "whole x // 1 and x % 1": """%a = floordiv %k, %unit : [t] i32
%b = mod %k, %unit : [t] i32""",
    "whole x - x, x == x": """%a = sub %k, %k : [t] i32
%b = le %k, %k : [t] bool
%d = ne %k, %k : [t] bool""",
    "x * -1 = -x": """%a = mul %less, %x : [t] f32[2, 3]
%b = div %x, %less : [t] f32[2, 3]""",
    "x / 2**k = x * 2**-k": "%a = div %x, %eight : [t] f32[2, 3]",
    "a + -b = a - b": """%n = neg %x : [t] f32[2, 3]
%n2 = neg %y : [t] f32[2, 3]
%a = add %x, %n2 : [t] f32[2, 3]
%b = add %n, %y : [t] f32[2, 3]
%d = sub %x, %n2 : [t] f32[2, 3]
%e = mul %n, %n2 : [t] f32[2, 3]""",
    "a + -b * c = a - b * c": """%n = neg %s : [t] f32
%n2 = mul %n, %x : [t] f32[2, 3]
%a = add %n2, %y : [t] f32[2, 3]
%n3 = div %z, %n : [t] f32[2, 3]
%b = sub %y, %n3 : [t] f32[2, 3]""",
    "-(-x) = x": "%n = neg %x : [t] f32[2, 3]\n%a = neg %n[T-1-t] : [t] f32[2, 3]",
    "not not x = x": "%n = not %c : [t] bool\n%a = not %n[0:t+1] : [t] bool[t+1]",
    "f(f(x)) = f(x)": """%n = floor %x : [t] f32[2, 3]
%a = round %n : [t] f32[2, 3]
%n2 = abs %s : [t] f32
%b = abs %n2 : [t] f32""",
    "abs(-x) = abs(x)": "%n = neg %x : [t] f32[2, 3]\n%a = abs %n : [t] f32[2, 3]",
    "f(x, x) = x": "%a = maximum %x, %x : [t] f32[2, 3]\n%b = and %c, %c : [t] bool",
    "f(x, neutral) = x": """%a = minimum %x, %most : [t] f32[2, 3]
%b = and %yes, %c : [t] bool
%d = or %c, %yes : [t] bool""",
    "clip on one side": "%a = clip %x, %zero, %most : [t] f32[2, 3]",
    "not (a == b) = a != b": """%n = eq %s, %u : [t] bool
%a = not %n : [t] bool
%n2 = lt %k, %unit : [t] bool
%b = not %n2 : [t] bool""",
    "where(c, x, x) = x": "%a = where %c, %x, %x : [t] f32[2, 3]",
    "where(true, x, y) = x": "%a = where %yes, %k, %unit : [t] i32",
    "where(not c, x, y) = where(c, y, x)": """%n = not %c : [t] bool
%a = where %n, %x, %y : [t] f32[2, 3]""",
    "where(c, where(c, x, y), z) = where(c, x, z)": """%n = where %c, %x, %y : [t] f32[2, 3]
%a = where %c, %n, %z : [t] f32[2, 3]
%b = where %c, %z, %n : [t] f32[2, 3]""",
    "a cast to its own dtype": "%a = cast{dtype=f32} %x : [t] f32[2, 3]",
    "a cast of a lossless cast": """%n = cast{dtype=f64} %x : [t] f64[2, 3]
%a = cast{dtype=f32} %n : [t] f32[2, 3]
%b = cast{dtype=i32} %n : [t] i32[2, 3]""",
    "a transpose that keeps the order": "%a = transpose{axes=(0, 1)} %x : [t] f32[2, 3]",
    "a transpose of a transpose": """%n = transpose{axes=(2, 0, 1)} %x[0:t+1] : [t] f32[3, t+1, 2]
%a = transpose{axes=(0, 2, 1)} %n : [t] f32[3, 2, t+1]""",
    "a transpose before an operation": """%n = transpose %x : [t] f32[3, 2]
%n2 = transpose %y : [t] f32[3, 2]
%n3 = add %n, %n2 : [t] f32[3, 2]
%n4 = mul %n3, %s : [t] f32[3, 2]
%n5 = abs %n4 : [t] f32[3, 2]
%a = where %c, %n5, %zero : [t] f32[3, 2]""",
    "a transpose before a reduction": """%n = transpose %x : [t] f32[3, 2]
%a = max{axes=(0,)} %n : [t] f32[2]""",
    "a shape that is there already": "%a = reshape{shape=(2, 3)} %x : [t] f32[2, 3]",
    "a reshape of a reshape": """%n = reshape{shape=(6,)} %x : [t] f32[6]
%a = reshape{shape=(3, 2)} %n : [t] f32[3, 2]
%b = reshape{shape=(2, 3)} %n : [t] f32[2, 3]
%n2 = expand_dims{axis=1} %y : [t] f32[2, 1, 3]
%d = reshape{shape=(3, 2)} %n2 : [t] f32[3, 2]""",
    "a new axis of a reshape": """%n = reshape{shape=(6, 1)} %x : [t] f32[6, 1]
%a = squeeze{axes=(1,)} %n : [t] f32[6]
%n2 = reshape{shape=(6,)} %y : [t] f32[6]
%b = expand_dims{axis=0} %n2 : [t] f32[1, 6]""",
    "a squeeze of a new axis": """%n = expand_dims{axis=1} %x : [t] f32[2, 1, 3]
%a = squeeze{axes=(1,)} %n : [t] f32[2, 3]""",
    "a broadcast of a broadcast": """%n = expand_dims{axis=0} %r : [t] f32[1, 3]
%n2 = broadcast_to{shape=(2, 3)} %n : [t] f32[2, 3]
%a = broadcast_to{shape=(4, 2, 3)} %n2 : [t] f32[4, 2, 3]""",
    "a new axis of a broadcast": """%n = broadcast_to{shape=(4, 2, 3)} %r : [t] f32[4, 2, 3]
%a = expand_dims{axis=1} %n : [t] f32[4, 1, 2, 3]
%n2 = broadcast_to{shape=(4, 2, 3)} %x : [t] f32[4, 2, 3]
%b = expand_dims{axis=3} %n2 : [t] f32[4, 2, 3, 1]""",
    "a broadcast number": "%a = broadcast_to{shape=(t+1,)} %two : [t] f32[t+1]",
    "a broadcast before an operation": """%n = broadcast_to{shape=(2, 3)} %r : [t] f32[2, 3]
%a = add %n, %x : [t] f32[2, 3]
%n2 = broadcast_to{shape=(2, 3)} %s : [t] f32[2, 3]
%b = mul %n, %n2 : [t] f32[2, 3]
%n3 = expand_dims{axis=0} %r : [t] f32[1, 3]
%d = sub %y, %n3 : [t] f32[2, 3]
%n4 = full{shape=(2, 3), value=2.5, dtype=f32} : [] f32[2, 3]
%e = mul %n4, %x : [t] f32[2, 3]""",
    "a broadcast of positions": """%n = argsort{axis=0} %x : [t] i32[2, 3]
%n2 = getitem{entries=((0, 2, 1), (0, 1, 1))} %n : [t] i32[2, 1]
%n3 = broadcast_to{shape=(2, 3)} %n2 : [t] i32[2, 3]
%a = take_along{axis=0} %y, %n3 : [t] f32[2, 3]
%n4 = getitem{entries=(1, (0, 3, 1))} %n : [t] i32[3]
%n5 = broadcast_to{shape=(2, 3)} %n4 : [t] i32[2, 3]
%b = take_along{axis=1} %y, %n5 : [t] f32[2, 3]""",
    "a broadcast before a function": """%n = broadcast_to{shape=(2, 3)} %r : [t] f32[2, 3]
%a = abs %n : [t] f32[2, 3]""",
    "a reduction of a broadcast": """%n = broadcast_to{shape=(t+1, 3)} %r : [t] f32[t+1, 3]
%a = max{axes=(0,)} %n : [t] f32[3]
%b = min %n : [t] f32""",
    "a reduction of one element": """%n = expand_dims{axis=1} %x[0] : [] f32[2, 1, 3]
%a = max{axes=(1,)} %n : [] f32[2, 3]""",
    "a slice of everything": """%a = getitem{entries=((0, t+1, 1), (0, 3, 1))} %r[0:t+1] \
: [t] f32[t+1, 3]""",
    "a part of a part": """%n = getitem{entries=(1, (2, 3, -1))} %x : [t] f32[3]
%a = getitem{entries=((0, 2, 2),)} %n : [t] f32[2]
%b = getitem{entries=(1,)} %n : [t] f32""",
    "a part after a change of axes": """
%n = transpose{axes=(2, 0, 1)} %x[0:t+1] : [t] f32[3, t+1, 2]
%a = getitem{entries=((0, 3, 1), t, (0, 2, 1))} %n : [t] f32[3, 2]
%n2 = expand_dims{axis=1} %r : [t] f32[3, 1]
%b = getitem{entries=(2, 0)} %n2 : [t] f32
%n3 = broadcast_to{shape=(2, 3)} %r : [t] f32[2, 3]
%d = getitem{entries=((1, 1, 1), (0, 2, 1))} %n3 : [t] f32[1, 2]""",
    "a part of what was joined": """%n = concat{axis=1} %x, %y : [t] f32[2, 6]
%a = getitem{entries=((0, 2, 1), (3, 2, 2))} %n : [t] f32[2, 2]
%b = getitem{entries=(0, 1)} %n : [t] f32
%n2 = stack{axis=1} %x, %y : [t] f32[2, 2, 3]
%d = getitem{entries=(0, 1, (0, 3, 1))} %n2 : [t] f32[3]""",
    "a range of what was joined": """%n = concat{axis=1} %x, %y, %x : [t] f32[2, 9]
%a = getitem{entries=((0, 2, 1), (1, 4, 1))} %n : [t] f32[2, 4]
%b = getitem{entries=((1, 1, 1), (4, 5, 1))} %n : [t] f32[1, 5]
%d = getitem{entries=((0, 2, 1), (3, 6, 1))} %n : [t] f32[2, 6]""",
    "the first places of an order": """%n = argsort %big : [t] i32[130]
%a = getitem{entries=((0, 3, 1),)} %n : [t] i32[3]
%n2 = argsort %big : [t] i32[130]
%b = getitem{entries=((1, 2, 2),)} %n2 : [t] i32[2]
%n3 = argsort %big : [t] i32[130]
%d = getitem{entries=(4,)} %n3 : [t] i32""",
    "a part of a function": """%n = abs %x : [t] f32[2, 3]
%a = getitem{entries=(1, (0, 2, 1))} %n : [t] f32[2]
%n2 = neg %r : [t] f32[3]
%n3 = mod %k, %unit : [t] i32
%b = getitem{entries=("tensor",)} %n2, %n3 : [t] f32
%n4 = floor %y : [t] f32[2, 3]
%n5 = full{shape=(2, 1), value=1, dtype=i32} : [] i32[2, 1]
%d = take_along{axis=1} %n4, %n5 : [t] f32[2, 1]""",
    "one tensor joined": """%a = concat %x : [t] f32[2, 3]
%b = stack{axis=1} %x : [t] f32[2, 1, 3]""",
    "joined tensors joined": """%n = concat %r, %r[0] : [t] f32[6]
%a = concat %n, %r[T-1] : [t] f32[9]""",
    "neighbouring parts joined": """%n = getitem{entries=((0, 1, 1), (0, 3, 1))} %x : [t] f32[1, 3]
%n2 = getitem{entries=((1, 1, 1), (0, 3, 1))} %x : [t] f32[1, 3]
%a = concat %n, %n2 : [t] f32[2, 3]
%n3 = split{sections=3, axis=1} %y : [t] f32[2, 1], f32[2, 1], f32[2, 1]
%b = concat{axis=1} %n3, %n3@1, %n3@2 : [t] f32[2, 3]
%d = concat{axis=1} %n3@2, %n3@1 : [t] f32[2, 2]""",
    "all parts stacked": """%n = getitem{entries=((0, 2, 1), 0)} %x : [t] f32[2]
%n2 = getitem{entries=((0, 2, 1), 1)} %x : [t] f32[2]
%n3 = getitem{entries=((0, 2, 1), 2)} %x : [t] f32[2]
%a = stack{axis=1} %n, %n2, %n3 : [t] f32[2, 3]""",
    "no padding": "%a = pad{widths=((0, 0), (0, 0))} %x : [t] f32[2, 3]",
    "padding of padding": """%n = pad{widths=((0, 1), (t, 0))} %x : [t] f32[3, t+3]
%a = pad{widths=((1, 0), (1, 2))} %n : [t] f32[4, t+6]""",
    "a flip of a flip": """%n = flip{axes=(0, 1)} %x : [t] f32[2, 3]
%a = flip{axes=(0,)} %n : [t] f32[2, 3]
%n2 = flip %y : [t] f32[2, 3]
%b = flip %n2 : [t] f32[2, 3]""",
    "a part of a product": """%n = sub %x, %r : [t] f32[2, 3]
%a = getitem{entries=(1, (0, 2, 1))} %n : [t] f32[2]
%n2 = expand_dims{axis=0} %s : [t] f32[1]
%n3 = div %r, %n2 : [t] f32[3]
%n4 = mod %k, %unit : [t] i32
%b = getitem{entries=("tensor",)} %n3, %n4 : [t] f32""",
    "elements picked of a product": """%n = max{axes=(1,), keepdims=true} %x : [t] f32[2, 1]
%n2 = sub %x, %n : [t] f32[2, 3]
%n3 = full{shape=(2, 1), value=1, dtype=i32} : [] i32[2, 1]
%a = take_along{axis=1} %n2, %n3 : [t] f32[2, 1]""",
    "an element of a row": """%w = full{shape=(4, 5, 2), value=1.0, dtype=f32} : [] f32[4, 5, 2]
%n = mod %k, %unit : [t] i32
%n2 = getitem{entries=("tensor", (0, 5, 1), (0, 2, 1))} %w, %n : [t] f32[5, 2]
%a = getitem{entries=("tensor", 1)} %n2, %n : [t] f32
%n3 = getitem{entries=("tensor", (0, 2, 1))} %n2, %n : [t] f32[2]
%b = getitem{entries=("tensor",)} %n3, %n : [t] f32""",
    "elements at known positions": """%n = arange{stop=3} : [] i32[3]
%n2 = literal{value=2, dtype=i32} : [] i32
%n3 = add %n, %n2 : [] i32[3]
%n4 = literal{value=3, dtype=i32} : [] i32
%n5 = mod %n3, %n4 : [] i32[3]
%a = take{axis=1} %x, %n5 : [t] f32[2, 3]
%n6 = literal{value=-1, dtype=i32} : [] i32
%b = getitem{entries=((0, 2, 1), "tensor")} %x, %n6 : [t] f32[2]""",
    "sums by known positions": """%n = arange{stop=2, start=-1} : [] i32[3]
%a = scatter_add{axis=1, n=3} %x, %n : [t] f32[2, 3]
%n2 = arange{stop=-1, start=2, step=-1} : [] i32[3]
%n3 = concat{axis=0} %n2, %n2 : [] i32[6]
%n4 = concat{axis=0} %r, %r : [t] f32[6]
%b = scatter_add{axis=0, n=5} %n4, %n3 : [t] f32[5]
%n5 = literal{value=0, dtype=i32} : [] i32
%n6 = maximum %n, %n5 : [] i32[3]
%d = scatter_add{axis=0, n=5} %r, %n6 : [t] f32[5]
%e = take %r, %n6 : [t] f32[3]""",
    "positions that are inside": """%n = argsort %r : [t] i32[3]
%a = take %r, %n : [t] f32[3]
%n2 = literal{value=0, dtype=i32} : [] i32
%n3 = literal{value=2, dtype=i32} : [] i32
%n4 = clip %k, %n2, %n3 : [t] i32
%n5 = where %c, %n4, %n2 : [t] i32
%b = getitem{entries=((0, 2, 1), "tensor")} %x, %n5 : [t] f32[2]
%n6 = add %n4, %n3 : [t] i32
%d = put{axis=0} %W, %n4, %one : [t] f32[3, 4]
%e = scatter_add{axis=0, n=5} %one, %n6 : [t] f32[5]
%n7 = literal{value=-1, dtype=i32} : [] i32
%n8 = add %n5, %n7 : [t] i32
%f = take{axis=1} %x, %n8 : [t] f32[2]""",
    "positions that are the same at many points": """%n = sin %W : [] f32[3, 4]
%n2 = cast{dtype=i32} %n : [] i32[3, 4]
%a = take{axis=1} %x, %n2 : [t] f32[2, 3, 4]
%b = getitem{entries=((0, 2, 1), "tensor")} %x, %n2 : [t] f32[2, 3, 4]""",
    "checked positions that are inside": """%n = arange{stop=4, start=1} : [] i32[3]
%a = in_range{n=4} %n : [] i32[3]""",
    "divisions of numbers that are not negative": """%n = argmax %r : [t] i32
%n2 = literal{value=2, dtype=i32} : [] i32
%a = floordiv %n, %n2 : [t] i32
%b = mod %n, %n2 : [t] i32
%d = mod %k, %n2 : [t] i32""",
    "promises that are kept": """%n = argmax %r : [t] i32
%a = pick{lo=0, hi=3} %r, %n : [t] f32
%n2 = add %n, %n : [t] i32
%n3 = literal{value=3, dtype=i32} : [] i32
%n4 = mod %n2, %n3 : [t] i32
%b = pick{lo=0, hi=3} %r, %n4 : [t] f32
%n5 = literal{value=0, dtype=i32} : [] i32
%n6 = index{expr=t} : [t] i32
%n7 = clip %k, %n5, %n6 : [t] i32
%d = pick{lo=0, hi=t+1} %s[0:t+1], %n7 : [t] f32
%n8 = minimum %n6, %k : [t] i32
%n9 = maximum %n8, %n5 : [t] i32
%f = pick{lo=0, hi=t+1} %s[0:t+1], %n9 : [t] f32""",
    "state written at one place": """%n = full{shape=(70,), value=0.0, dtype=f32} : [] f32[70]
%n2 = arange{stop=70} : [] i32[70]
%n3 = eq %n2, %k : [t | t < T-1] bool[70]
%n4 = where %n3, %s, %a : [t | t < T-1] f32[70]
%a = merge{targets=((0,), (t+1,))} %n when t == 0, %n4[t-1] when t-1 >= 0 : [t] f32[70]
%n5 = full{shape=(4, 20), value=0.0, dtype=f32} : [] f32[4, 20]
%n6 = one_hot{n=4} %k : [t] f32[4]
%n7 = expand_dims{axis=1} %n6 : [t] f32[4, 1]
%n8 = cast{dtype=bool} %n7 : [t] bool[4, 1]
%n9 = not %n8 : [t] bool[4, 1]
%n10 = where %n9, %b, %one : [t | t < T-1] f32[4, 20]
%b = merge{targets=((0,), (t+1,))} %n5 when t == 0, %n10[t-1] when t-1 >= 0 : [t] f32[4, 20]""",
    "state written under a condition": """%n = full{shape=(70,), value=0.0, dtype=f32} : [] f32[70]
%n2 = mod %k, %bins : [t] i32
%n3 = put{sure=true} %a, %n2, %s : [t | t < T-1] f32[70]
%n4 = where %c, %n3, %a : [t | t < T-1] f32[70]
%a = merge{targets=((0,), (t+1,))} %n when t == 0, %n4[t-1] when t-1 >= 0 : [t] f32[70]""",
    "a reduction of a reduction": """%n = max{axes=(1,)} %x[0:t+1] : [t] f32[t+1, 3]
%a = max{axes=(1,)} %n : [t] f32[t+1]
%n2 = cast{dtype=i32} %y : [t] i32[2, 3]
%n3 = sum{axes=(1,), keepdims=true} %n2 : [t] i32[2, 1]
%b = sum %n3 : [t] i32""",
    "a sum of a reshape": """%n = reshape{shape=(t+1, 6)} %x[0:t+1] : [t] f32[t+1, 6]
%a = max{axes=(0,)} %n : [t] f32[6]
%n2 = reshape{shape=(2, 3, 1)} %y : [t] f32[2, 3, 1]
%b = sum{axes=(1,)} %n2 : [t] f32[2, 1]""",
}
"""Those that hold for every number."""

ROUNDED = {
    "the greatest or least of what is sorted": """%n = sort %big : [t] f32[130]
%a = getitem{entries=(129,)} %n : [t] f32
%n2 = sort{axis=0} %x : [t] f32[2, 3]
%b = getitem{entries=(1, (0, 2, 2))} %n2 : [t] f32[2]
%n3 = sort %big : [t] f32[130]
%d = getitem{entries=((126, 2, 2),)} %n3 : [t] f32[2]
%n4 = sort %big : [t] f32[130]
%f = getitem{entries=(0,)} %n4 : [t] f32
%n5 = sort %big : [t] f32[130]
%g = getitem{entries=((1, 2, 3),)} %n5 : [t] f32[2]""",
    "x ** 2 = x * x": """%a = power %x, %two : [t] f32[2, 3]
%b = power %x, %three : [t] f32[2, 3]
%p4 = power %x, %four : [t] f32[2, 3]
%p5 = power %x, %back : [t] f32[2, 3]""",
    "x ** 1.5 = x * sqrt(x)": """%half = literal{value=0.5, dtype=f32} : [] f32
%more = literal{value=1.5, dtype=f32} : [] f32
%under = literal{value=-0.5, dtype=f32} : [] f32
%below = literal{value=-1.5, dtype=f32} : [] f32
%a = power %x, %half : [t] f32[2, 3]
%b = power %x, %more : [t] f32[2, 3]
%d = power %x, %under : [t] f32[2, 3]
%f = power %x, %below : [t] f32[2, 3]""",
    "1 / sqrt(x) = rsqrt(x)": """%n = exp %x : [t] f32[2, 3]
%n2 = sqrt %n : [t] f32[2, 3]
%a = div %one, %n2 : [t] f32[2, 3]""",
    "1 / (1 + exp(-x)) = sigmoid(x)": """%n = neg %x : [t] f32[2, 3]
%n2 = exp %n : [t] f32[2, 3]
%n3 = add %one, %n2 : [t] f32[2, 3]
%a = div %one, %n3 : [t] f32[2, 3]""",
    "x * sigmoid(x) = silu(x)": """%n = sigmoid %x : [t] f32[2, 3]
%a = mul %n, %x : [t] f32[2, 3]""",
    "(x * 2) * 3 = x * 6": """%n = mul %three, %x : [t] f32[2, 3]
%a = mul %n, %three : [t] f32[2, 3]
%n2 = div %y, %three : [t] f32[2, 3]
%b = mul %two, %n2 : [t] f32[2, 3]""",
    "-(x * 2) = x * -2": "%n = mul %x, %three : [t] f32[2, 3]\n%a = neg %n : [t] f32[2, 3]",
    "a * (b * x) = (a * b) * x for scalars a and b": """%n = mul %s, %x : [t] f32[2, 3]
%a = mul %n, %u : [t] f32[2, 3]""",
    "exp(a) * exp(b) = exp(a + b)": """%n = exp %x : [t] f32[2, 3]
%n2 = exp %y : [t] f32[2, 3]
%a = mul %n, %n2 : [t] f32[2, 3]
%n3 = exp %s : [t] f32
%b = div %one, %n3 : [t] f32""",
    "log(exp(x)) = x": "%n = exp %x : [t] f32[2, 3]\n%a = log %n : [t] f32[2, 3]",
    "log(exp(x) / s) = x - log(s)": """%n = exp %x : [t] f32[2, 3]
%n2 = sum{axes=(1,), keepdims=true} %n : [t] f32[2, 1]
%n3 = div %n, %n2 : [t] f32[2, 3]
%a = log %n3 : [t] f32[2, 3]""",
    "parts added among zeros": """%n = full{shape=(3,), value=0.0, dtype=f32} : [] f32[3]
%n2 = neg %r : [t] f32[3]
%n3 = concat %n, %r, %n : [t] f32[9]
%n4 = concat %n2, %n, %n : [t] f32[9]
%a = add %n3, %n4 : [t] f32[9]""",
    "a place in padded products": """%n = mul %x[0:t+1], %r : [t] f32[t+1, 2, 3]
%n2 = pad{widths=((0, T-t-1), (0, 0), (0, 0))} %n : [t] f32[T, 2, 3]
%a = getitem{entries=((0, T-t, 1), t, (0, 2, 1), (0, 3, 1))} %n2[t:T] : [t] f32[T-t, 2, 3]
%b = sum{axes=(0,)} %a : [t] f32[2, 3]
%n3 = expand_dims{axis=1} %r[0:t+1] : [t] f32[t+1, 1, 3]
%n4 = mul %n3, %x : [t] f32[t+1, 2, 3]
%n5 = pad{widths=((0, T-t-1), (0, 0), (0, 0))} %n4 : [t] f32[T, 2, 3]
%d = getitem{entries=((0, T-t, 1), t, (0, 2, 1), (0, 3, 1))} %n5[t:T] : [t] f32[T-t, 2, 3]""",
    "sums by position of sums by position": """%n = mod %k, %bins : [t] i32
%n2 = scatter_add{axis=0, n=8} %r, %n : [t] f32[8, 3]
%a = scatter_add{axis=0, n=9} %n2[0:T], %n[0:T] : [] f32[9, 8, 3]
%n3 = scatter_add{axis=0, n=8, sure=true} %r, %n : [t] f32[8, 3]
%b = scatter_add{axis=0, n=9, sure=true} %n3[t:T], %n[t:T] : [t] f32[9, 8, 3]""",
    "a product of one of few matrices": """%n = literal{value=3, dtype=i32} : [] i32
%n2 = mod %k, %n : [t] i32
%n3 = pick{lo=0, hi=E} %V[0:E], %n2 : [t] f32[2, 3]
%a = matmul %n3, %r : [t] f32[2]
%n4 = sum{axes=(1,)} %x : [t] f32[2]
%b = matmul %n4, %n3 : [t] f32[3]""",
    "sums by position of outer products": """%n = mod %k, %bins : [t] i32
%n2 = sum{axes=(1,)} %x : [t] f32[2]
%n3 = einsum{spec="i,k->ik"} %r, %n2 : [t] f32[3, 2]
%a = scatter_add{axis=0, n=8} %n3[0:T], %n[0:T] : [] f32[8, 3, 2]
%n4 = einsum{spec="i,k->ki"} %r, %n2 : [t] f32[2, 3]
%b = scatter_add{axis=0, n=8, sure=true} %n4[t:T], %n[t:T] : [t] f32[8, 2, 3]""",
    "a sum of what stands at positions": """%n = broadcast_to{shape=(2, 3)} %k : [t] i32[2, 3]
%n2 = one_hot{n=4, dtype=bool} %n : [t] bool[2, 3, 4]
%n3 = expand_dims{axis=2} %x : [t] f32[2, 3, 1]
%n4 = where %n2, %n3, %zero : [t] f32[2, 3, 4]
%n5 = transpose{axes=(2, 1, 0)} %n4 : [t] f32[4, 3, 2]
%a = sum{axes=(0, 3), keepdims=true} %n5[0:T] : [] f32[1, 4, 3, 1]
%n6 = where %n2, %n3, %zero : [t] f32[2, 3, 4]
%b = sum{axes=(0, 1)} %n6 : [t] f32[4]""",
    "how often a number occurs": """%n = one_hot{n=T, dtype=f32} %k : [t] f32[T]
%a = sum{axes=(0,)} %n[0:T] : [] f32[T]
%n2 = broadcast_to{shape=(2, 3)} %k : [t] i32[2, 3]
%n3 = one_hot{n=4, dtype=i32} %n2 : [t] i32[2, 3, 4]
%b = sum{axes=(0, 1, 2)} %n3[t:T] : [t] i32[4]""",
    "how many running sums are less": """%n = softplus %big : [t] f32[130]
%n2 = cumsum %n : [t] f32[130]
%n3 = expand_dims{axis=1} %n2 : [t] f32[130, 1]
%n4 = gt %big, %n3 : [t] bool[130, 130]
%a = sum{axes=(0,)} %n4 : [t] i32[130]
%n5 = le %n2[0], %s : [t] bool[130]
%n6 = cast{dtype=f32} %n5 : [t] f32[130]
%b = sum %n6 : [t] f32""",
    "the first running sum that is not less": """%n = softplus %big : [t] f32[130]
%n2 = cumsum %n : [t] f32[130]
%n3 = expand_dims{axis=1} %big : [t] f32[130, 1]
%n4 = lt %n3, %n2 : [t] bool[130, 130]
%a = argmax{axis=1} %n4 : [t] i32[130]""",
    "a sum of what is at one place": """%n = arange{stop=130} : [] i32[130]
%n2 = eq %n, %k : [t] bool[130]
%n3 = where %n2, %big, %zero : [t] f32[130]
%a = sum %n3 : [t] f32
%n4 = expand_dims{axis=1} %n2 : [t] bool[130, 1]
%n5 = and %n4, %c : [t] bool[130, 1]
%n6 = broadcast_to{shape=(130, 130)} %big : [t] f32[130, 130]
%n7 = where %n5, %n6, %zero : [t] f32[130, 130]
%b = sum{axes=(0,)} %n7 : [t] f32[130]
%n8 = where %n5, %n6, %zero : [t] f32[130, 130]
%d = sum %n8 : [t] f32""",
    "state changed at one place": """%n = full{shape=(70,), value=0.0, dtype=f32} : [] f32[70]
%n2 = one_hot{n=70} %k : [t] f32[70]
%n3 = sub %two, %n2 : [t] f32[70]
%n4 = sub %n3, %one : [t] f32[70]
%n5 = mul %n4, %a : [t | t < T-1] f32[70]
%a = merge{targets=((0,), (t+1,))} %n when t == 0, %n5[t-1] when t-1 >= 0 : [t] f32[70]
%n6 = full{shape=(4, 300), value=0.0, dtype=f32} : [] f32[4, 300]
%n7 = one_hot{n=300} %k : [t] f32[300]
%n8 = mul %s, %n7 : [t] f32[300]
%n9 = sub %b, %n8 : [t | t < T-1] f32[4, 300]
%b = merge{targets=((0,), (t+1,))} %n6 when t == 0, %n9[t-1] when t-1 >= 0 : [t] f32[4, 300]""",
    "a sum by position added to state": """
%n = full{shape=(33, 2), value=0.0, dtype=f32} : [] f32[33, 2]
%n2 = broadcast_to{shape=(3,)} %k : [t] i32[3]
%n3 = mod %n2, %bins : [t] i32[3]
%n4 = scatter_add{axis=1, n=33} %x, %n3 : [t | t < T-1] f32[2, 33]
%n5 = full{shape=(2, 33), value=0.0, dtype=f32} : [] f32[2, 33]
%n6 = add %n4, %a : [t | t < T-1] f32[2, 33]
%a = merge{targets=((0,), (t+1,))} %n5 when t == 0, %n6[t-1] when t-1 >= 0 : [t] f32[2, 33]
%n7 = scatter_add{axis=0, n=66} %r, %n3 : [t | t < T-1] f32[66]
%n8 = reshape{shape=(33, 2)} %n7 : [t | t < T-1] f32[33, 2]
%n9 = add %b, %n8 : [t | t < T-1] f32[33, 2]
%b = merge{targets=((0,), (t+1,))} %n when t == 0, %n9[t-1] when t-1 >= 0 : [t] f32[33, 2]""",
    "a sum of rows in their places": """%n = expand_dims{axis=0} %r : [t] f32[1, 3]
%n2 = pad{widths=((t, T-t-1), (0, 0))} %n : [t] f32[T, 3]
%a = sum{axes=(0,)} %n2[0:T] : [] f32[T, 3]
%n3 = expand_dims{axis=1} %r : [t] f32[3, 1]
%n4 = pad{widths=((0, 1), (t, T-t))} %n3 : [t] f32[4, T+1]
%b = sum{axes=(0,)} %n4[t:T] : [t] f32[4, T+1]
%n5 = mul %s, %u[j] : [t, j] f32
%n6 = expand_dims{axis=0} %n5 : [t, j] f32[1]
%n7 = expand_dims{axis=1} %n6 : [t, j] f32[1, 1]
%n8 = pad{widths=((j, T-j), (t, T-t-1))} %n7 : [t, j] f32[T+1, T]
%d = sum{axes=(0, 1)} %n8[0:T, 0:T] : [] f32[T+1, T]
%n9 = expand_dims{axis=0} %u[j] : [j] f32[1]
%n10 = expand_dims{axis=1} %n9 : [t, j] f32[1, 1]
%n11 = pad{widths=((t, T-t-1), (j, T-j))} %n10 : [t, j] f32[T, T+1]
%e = sum{axes=(0, 1)} %n11[0:T, 0:T] : [] f32[T, T+1]
%n12 = literal{value=1.0, dtype=f32} : [] f32
%n13 = expand_dims{axis=0} %n12 : [] f32[1]
%n14 = expand_dims{axis=1} %n13 : [t, j] f32[1, 1]
%n15 = pad{widths=((j, T-j-1), (t, T-t-1))} %n14 : [t, j] f32[T, T]
%f = sum{axes=(0, 1)} %n15[0:T, 0:T] : [] f32[T, T]""",
    "a sum of elements on a diagonal": """%n = expand_dims{axis=0} %s : [t] f32[1]
%n2 = expand_dims{axis=1} %n : [t] f32[1, 1]
%n3 = pad{widths=((t, T-t-1), (t, T-t))} %n2 : [t] f32[T, T+1]
%a = sum{axes=(0,)} %n3[0:T] : [] f32[T, T+1]
%b = sum{axes=(0,)} %n3[t:T] : [t] f32[T, T+1]
%n4 = literal{value=2.0, dtype=f32} : [] f32
%n5 = expand_dims{axis=0} %n4 : [] f32[1]
%n6 = expand_dims{axis=1} %n5 : [] f32[1, 1]
%n7 = pad{widths=((t, T-t-1), (t, T-t))} %n6 : [t] f32[T, T+1]
%d = sum{axes=(0,)} %n7[0:T] : [] f32[T, T+1]""",
    "a sum of sums by position": """%n = mod %k, %bins : [t] i32
%n2 = scatter_add{axis=0, n=8} %r, %n : [t] f32[8, 3]
%a = sum{axes=(0,)} %n2[0:T] : [] f32[8, 3]
%n3 = scatter_add{axis=1, n=8} %r, %n : [t] f32[3, 8]
%b = sum{axes=(0,)} %n3[t:T] : [t] f32[3, 8]
%n4 = broadcast_to{shape=(2,)} %n : [t] i32[2]
%n5 = scatter_add{axis=0, n=8} %x, %n4 : [t] f32[8, 3]
%d = sum{axes=(0,)} %n5[0:T] : [] f32[8, 3]
%n6 = scatter_add{axis=0, n=T+8} %x, %n4 : [t] f32[T+8, 3]
%e = sum{axes=(0,)} %n6[0:T] : [] f32[T+8, 3]""",
    "a sum of what is sent to one position": """%n = mod %k, %bins : [t] i32
%n2 = scatter_add{axis=0, n=8} %r, %n : [t] f32[8, 3]
%n3 = getitem{entries=((0, T, 1), t % 8, (0, 3, 1))} %n2[0:T] : [t] f32[T, 3]
%a = sum{axes=(0,)} %n3 : [t] f32[3]
%n4 = scatter_add{axis=1, n=8} %r, %n : [t] f32[3, 8]
%n5 = getitem{entries=((0, T, 1), (1, 2, 1), t % 8)} %n4[0:T] : [t] f32[T, 2]
%b = sum{axes=(0,)} %n5 : [t] f32[2]
%n6 = expand_dims{axis=1} %r : [t] f32[3, 1]
%n7 = pad{widths=((0, 0), (t, T-t-1))} %n6 : [t] f32[3, T]
%n8 = getitem{entries=((0, T, 1), t % 3, (0, T, 1))} %n7[0:T] : [t] f32[T, T]
%d = sum{axes=(0,)} %n8 : [t] f32[T]""",
    "a sum of sums": """%n = sum{axes=(1,)} %x : [t] f32[2]
%a = sum %n : [t] f32
%n2 = mean{axes=(0,), keepdims=true} %y : [t] f32[1, 3]
%b = mean %n2 : [t] f32""",
    "a sum of numbers alike": """%n = broadcast_to{shape=(t+2, 3)} %r : [t] f32[t+2, 3]
%a = sum{axes=(0,)} %n : [t] f32[3]
%b = mean %n : [t] f32""",
    "a sum of one number": """%n = expand_dims{axis=0} %r : [t] f32[1, 3]
%a = sum{axes=(0,)} %n : [t] f32[3]
%b = mean{axes=(0,), keepdims=true} %n : [t] f32[1, 3]""",
    "sum(c * x) = c * sum(x)": """%n = mul %x, %s : [t] f32[2, 3]
%a = sum %n : [t] f32
%n2 = div %y, %r : [t] f32[2, 3]
%b = mean{axes=(0,)} %n2 : [t] f32[3]
%n3 = neg %z : [t] f32[2, 3]
%d = sum{axes=(1,), keepdims=true} %n3 : [t] f32[2, 1]""",
    "(a / s - sum(a / s * y)) * e = (a - sum(a * y)) * y": """%n = exp %x : [t] f32[2, 3]
%n2 = sum{axes=(1,), keepdims=true} %n : [t] f32[2, 1]
%n3 = div %n, %n2 : [t] f32[2, 3]
%n4 = div %y, %n2 : [t] f32[2, 3]
%n5 = mul %n4, %n3 : [t] f32[2, 3]
%n6 = sum{axes=(1,), keepdims=true} %n5 : [t] f32[2, 1]
%n7 = sub %n4, %n6 : [t] f32[2, 3]
%a = mul %n7, %n : [t] f32[2, 3]
%n8 = sum{axes=(1,)} %n : [t] f32[2]
%n9 = expand_dims{axis=1} %n8 : [t] f32[2, 1]
%d = div %n, %n9 : [t] f32[2, 3]
%n11 = div %z, %n9 : [t] f32[2, 3]
%n12 = mul %d, %n11 : [t] f32[2, 3]
%n13 = sum{axes=(1,)} %n12 : [t] f32[2]
%n14 = expand_dims{axis=1} %n13 : [t] f32[2, 1]
%n15 = sub %n11, %n14 : [t] f32[2, 3]
%b = mul %n, %n15 : [t] f32[2, 3]""",
    "a sum of products of many factors": """\
%A = param{template="A", dtype=f32, shape=(3, 3)} : [] f32[3, 3]
%n = expand_dims{axis=1} %r : [t] f32[3, 1]
%n2 = exp %r : [t] f32[3]
%n3 = mul %n, %n2 : [t] f32[3, 3]
%n4 = div %n3, %s : [t] f32[3, 3]
%n5 = mul %A, %n4 : [t] f32[3, 3]
%a = sum{axes=(0,)} %n5[0:T] : [] f32[3, 3]
%n6 = mul %A, %r : [t] f32[3, 3]
%b = sum{axes=(0, 2)} %n6[0:T] : [] f32[3]
%n7 = mul %x, %s : [t] f32[2, 3]
%n8 = mul %n7, %r : [t] f32[2, 3]
%d = sum{axes=(1,)} %n8 : [t] f32[2]
%n9 = mul %A, %s : [t] f32[3, 3]
%n10 = div %n9, %r[T-1] : [t] f32[3, 3]
%e = sum{axes=(0,)} %n10[0:T] : [] f32[3, 3]
%n11 = sub %s, %u[j] : [t, j | j <= t] f32
%n12 = mul %n11, %r[j] : [t, j | j <= t] f32[3]
%g = sum{axes=(0,)} %n12[t, 0:t+1] : [t] f32[3]
%n13 = mul %s[j], %r[j] : [t, j | t <= j] f32[3]
%n14 = mul %n13, %u : [t, j | t <= j] f32[3]
%h = sum{axes=(0,)} %n14[t, t:T] : [t] f32[3]""",
    "a product of matrices": """%a = einsum{spec="ab,b->a"} %x, %r : [t] f32[2]
%b = einsum{spec="cb,ac->ab"} %W, %x : [t] f32[2, 4]
%d = einsum{spec="kj,k->j"} %W, %r : [t] f32[4]""",
    "a change of axes before a contraction": """%n = transpose %y : [t] f32[3, 2]
%a = matmul %x, %n : [t] f32[2, 2]
%n2 = transpose %W : [] f32[4, 3]
%b = matmul %n2, %r : [t] f32[4]
%n3 = expand_dims{axis=0} %s : [t] f32[1]
%n4 = broadcast_to{shape=(3,)} %n3 : [t] f32[3]
%d = einsum{spec="i,ij->j"} %n4, %W : [t] f32[4]
%n5 = expand_dims{axis=0} %r : [t] f32[1, 3]
%e = einsum{spec="ai,ij->j"} %n5, %W : [t] f32[4]
%n6 = expand_dims{axis=1} %r : [t] f32[3, 1]
%f = einsum{spec="ia,ij->aj"} %n6, %W : [t] f32[1, 4]""",
    "a transpose of a contraction": """%n = matmul %x, %W : [t] f32[2, 4]
%a = transpose %n : [t] f32[4, 2]""",
    "a scaled operand of a contraction": """%n = mul %x, %s : [t] f32[2, 3]
%a = matmul %n, %r : [t] f32[2]
%n2 = div %y, %s : [t] f32[2, 3]
%b = einsum{spec="ab,b->"} %n2, %r : [t] f32
%n3 = neg %z : [t] f32[2, 3]
%d = matmul %n3, %r : [t] f32[2]""",
    "a sum of a contraction": """%n = matmul %x, %W : [t] f32[2, 4]
%a = sum{axes=(1,)} %n : [t] f32[2]""",
    "a sum of outer products": """%n = einsum{spec="i,j->ij"} %r, %r : [t] f32[3, 3]
%a = sum{axes=(0,)} %n[0:T] : [] f32[3, 3]
%n2 = expand_dims{axis=2} %x : [t] f32[2, 3, 1]
%n3 = expand_dims{axis=1} %y : [t] f32[2, 1, 3]
%n4 = mul %n2, %n3 : [t] f32[2, 3, 3]
%b = sum{axes=(0,)} %n4 : [t] f32[3, 3]
%n5 = einsum{spec="i,jk->ijk"} %r[T-1], %x : [t] f32[3, 2, 3]
%d = sum{axes=(0, 2)} %n5[t:T] : [t] f32[3, 3]""",
    "an axis that one factor has": """%a = einsum{spec="aij,j->i"} %x[0:t+1], %r : [t] f32[2]
%b = einsum{spec="ij,aj->i"} %x, %r[t:T] : [t] f32[2]""",
    "a * x + b * x = (a + b) * x": """%n = mul %x, %y : [t] f32[2, 3]
%n2 = mul %z, %x : [t] f32[2, 3]
%a = sub %n, %n2 : [t] f32[2, 3]
%n3 = matmul %x, %W : [t] f32[2, 4]
%n4 = matmul %y, %W : [t] f32[2, 4]
%n5 = add %n3, %s : [t] f32[2, 4]
%b = add %n5, %n4 : [t] f32[2, 4]""",
    "paddings added that fill an axis": """%n = pad{widths=((3, 0),)} %r : [t] f32[6]
%n2 = pad{widths=((1, 3),)} %n4 : [t] f32[6]
%n3 = pad{widths=((0, 5),)} %n5 : [t] f32[6]
%n4 = getitem{entries=((0, 2, 1),)} %r : [t] f32[2]
%n5 = getitem{entries=((1, 1, 1),)} %r : [t] f32[1]
%n6 = add %n, %n3 : [t] f32[6]
%a = add %n6, %n2 : [t] f32[6]""",
}
"""Those that hold up to rounding."""
