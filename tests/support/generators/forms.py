"""Forms of equations over vectors, a line each; `{...}` stands for what is drawn (`blends.py`).

`{v}` is a vector, `{s}` a number, `{V}` and `{S}` rows of these along the slice `{x}` of `{d}`, a
dimension with `{T}` points; `{rows}` are all of them, `{two}` rows along two dimensions. `{at}` is
a vector elsewhere, `{chosen}` one where the data say. `{now}` is the tensor itself, `{now:-1}` one
step before, `{now:0}` at the beginning; `{y.h}` is another tensor of the same name.
"""

from __future__ import annotations


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().split("\n"))


FULL = _lines(
    """
0:{d}+1
{d}:{T}
0:{T}
max(0, {d}-2):{d}+1
{d}:min({d}+3, {T})
0:{T}:2
{d} % 2:{d}+1:2
{d}:{T}:2
max(0, {d}-1):min({d}+2, {T})
{d}//2:{d}+1
0:max({d}, 1)
{d} - {d} % 2:{d}+1
min({d}, 1):{d}+1
{T}-1-{d}:{T}
max(0, {T}-2):{T}
"""
)
"""Slices that have a point wherever they stand."""
OTHERS = _lines(
    """
0:{d}
{d}+1:{T}
max(0, {d}-2):{d}
0:{d}:2
{d}+1:min({d}+3, {T})
1:{d}
{d}+2:{T}:3
0:{d}//2
1:{T}
0:{T}-1-{d}
2:{d}:2
"""
)
"""Slices that may be empty."""
BEHIND = _lines(
    """
0:{d}
max(0, {d}-2):{d}
0:{d}:2
{d}//2:{d}
max(0, {d}-3):max({d}-1, 0)
"""
)
"""Slices of what is before."""
POINTS = _lines(
    """
max({d}-1, 0)
min({d}+2, {T}-1)
0
{T}-1
{T}-1-{d}
{d}//2
min(1, {T}-1)
{d} - {d} % 2
max({T}-2, 0)
min(2*{d}, {T}-1)
"""
)
"""Places that are there."""
GUARDS = _lines(
    """
{d} % 2 == 0
{d} >= 2
{d} < {T}-1
{d} == {T}-1
{d} != 1
{d}//2 % 2 == 0
{d} % 3 == 1
not {d} == 0
{d} == 0 or {d} == 2
2*{d} <= {e} + 2
{d} + {e} < {T}
"""
)
"""Conditions; `{e}` is some dimension."""
SCORES = _lines(
    """
{V} @ {v}
({V} @ {v}) / sqrt(F)
({V} @ {v}) * {s} + {S}
{S} - {s}
0.3 * {S}
tanh({V} @ {v}) - 0.5 * arange(size({S}, 0))
where({S} > {s}, {S}, -1.0)
"""
)
"""A number for each row."""
VECTORS = _lines(
    """
nn.layer_norm({v}, {v}, c)
nn.rms_norm({v}, c)
A @ {v} + {v}
{v} @ A.T * {v}
tanh(A @ tanh(A @ {v}) + c)
where({v} > {v}, {v}, c * {v})
concat([{v}[1:], {v}[:1]], 0)
einsum("i,ij,j->i", {v}, A, {v})
take({v}, argsort({v}), 0)
sort({v}) - {v}
split(concat([{v}, {v}], 0), 2, 0)[1]
top_k({v}, F)[0] * {s}
A[{d} % F] * {v}
stack([{v}, {v}], 0).T @ ones([2])
sum(broadcast_to({v}, [2, F]), axis = 0) - c
reshape(stack([{v}, {v}], 1), [-1])[0:F]
one_hot(argmax({v}), F) * {v}
c * {d} - {v}
pad({v}, [[1, 2]])[1:F+1] + flip({v}, 0)
cumprod({v}) + cummax({v}, reverse = true)
{v} if {g} else {v} * 2.0
cond({s} > 0.0, A @ {v}, {v})
f32({d} % 3 == 1) - {v}
nn.dropout({v}, 0.5)
random.normal([F]) * {v}
take({v}, random.permutation(F), 0)
nn.softmax({scores}) @ {V}
nn.softmax({scores}) @ {V} + {v}
{scores} @ {V} * {v}
sum({V} * {V}, axis = 0) * {v}
einsum("ti,tj->ij", {V}, {V}) @ {v}
mean({V}, axis = 0)
sum({V} @ A, axis = 0)
({V}.T @ {V}) @ {v}
max({V}, axis = 0)
prod({V}, axis = 0)
sum(cumsum({V}, axis = 0) * {V}, axis = 0)
sum(flip({V}, 0) * {V}, axis = 0)
sum(exp(-abs({V} - {v})) * {V}, axis = 0)
einsum("ti,i,ti->i", {V}, {v}, {V})
sum(nn.softmax({V}, axis = 0) * {V}, axis = 0)
(sort({V}, axis = 0))[0]
(conv({V}, K, padding = "same"))[0]
{V}[-1] - {V}[0]
take({V}, argmax({S}), 0)
sum(0.5 ** expand_dims(arange(size({V}, 0)), 1) * {V}, axis = 0)
({V})[n0 % size({V}, 0)]
logsumexp({V}, axis = 0)
sum(where({V} > {v}, {V}, 0.5), axis = 0)
{at} * {v}
0.5 * {at} + sin({v})
{at} - {v}
{chosen} * {s}
{chosen} + {v}
{whole}[{d}] + {v}
sum({whole} * 0.5 ** abs(expand_dims(arange({T}), 1) - {d}), axis = 0)
nn.softmax(where(arange({T}) <= {d}, {rows} @ {v}, -inf)) @ {rows}
sum(sum({two}, axis = 0), axis = 0)
max(mean({two}, axis = 1), axis = 0)
einsum("abi,abj->ij", {two}, {two}) @ {v}
sum({two} @ A, axis = 1)[0]
"""
)
WHOLES = _lines(
    """
cumsum({rows}, axis = 0)
cumsum({rows}, axis = 0, reverse = true)
flip({rows}, 0)
({rows} - mean({rows}, axis = 0))
nn.softmax({rows}, axis = 0)
sort({rows}, axis = 0)
cummax({rows}, axis = 0)
(A @ {rows}.T).T
conv({rows}, K, padding = "same")
associative_scan(both, {{m: {rows}, s: cos({rows})}}, 0).s
tanh({rows} @ A)
"""
)
"""As many rows as a dimension has points."""
NUMBERS = _lines(
    """
{v} @ {v}
max({v}) - {s}
logsumexp({S})
mean({S}) * {s}
var({S})
max({S}) - min({S})
argmax({S}) * 0.5
f32(any({S} > 0.5)) + f32(all({S} > 0.0))
cumsum({S})[-1]
{S} @ {S}
max(cumsum({S}))
sum({S} * (arange(size({S}, 0)) + {d}))
sort({S})[0] + {s}
top_k({S}, 1)[0][0]
sum(nn.softmax({V}, axis = -1) @ c * {S})
rl.discounted_sum({S}, 0.9)
max({V} @ {v})
associative_scan(both, {{m: {S}, s: cos({S})}}, 0).s[-1]
ssm.scan({S}, {S})[-1]
{s} * ({d} * 2 - 1)
({s} if {g} else {s} * 2.0)
cond({s} > 0.1, {s}, sum({S}))
f32(i32({s} * 4.0) % 3 + {d})
prod(tanh({S}))
sum(where({S} > {s}, {S}, {s}))
f32(n0 * {d} % 5) * {s}
sum({V} @ A) * {s}
random.uniform([]) * {s}
f32(random.categorical({v}))
sum(outer({v}, {v}))
"""
)
STEPS = _lines(
    """
tanh(A @ {p} + {v})
sigmoid({v}) * {p} + {v}
0.5 * {p} + {v}
{s} * {p} + {v}
{p} + {v}
maximum({p} * 0.5, {v})
A @ {p} + 0.0 * {v}
{p} * {v}
where({v} > 0.0, {v}, {p})
{v} - {p}
({p} + c * {s}) / (1.0 + abs({s}))
minimum({p}, {v})
{p} - 0.1 * ({v} @ {p}) * {v}
-{p} + {v}
flip({p}, 0) + {v}
cond({s} > 0.0, 0.5 * {p}, {v})
({v} if {g} else 0.5 * {p})
c + {p} * {d}
maximum({p} + {v}, 0.0)
log(exp({p}) + exp({v}))
{p} + 0.5 ** {d} * {v}
nn.softmax({p} + {v})
"""
)
"""What becomes of the state `{p}`."""
STATES = _lines(
    """
{p} + {o}
0.9 * {p} + {o}
{s} * {p} + {o}
expand_dims(sigmoid({v}), 1) * {p} + {o}
{p} - 0.1 * einsum("i,j->ij", {v}, {p} @ {v}) + {o}
{p} @ A + {o}
A @ {p} + {o}
"""
)
"""The same for matrices; `{o}` is an outer product."""
EQUATIONS = _lines(
    """
{now} = {vector}
{now} = {vector}
{now} = {vector} when {g}; {now} = {v}
{now} = {vector} when {g}; {now} = {v} when {g}; {now} = {v} - {v}
{now:0} = {v:0}; {now} = {step:-1}
{now:T-1} = {v:T-1}; {now} = {step:+1}
{now:0} = c; {now:+1} = {step}
{now} = {step:-2} when {d} >= 2; {now} = {v}
{now} = {step:-3} when {d} >= 3; {now} = {vector}
{now} = {step:-1} when {d} >= 1 and {g}; {now} = {v}
{now} = {v} when {g}; {now} = {step:-1} when {d} >= 1; {now} = c
{now}: f32[F] = tanh(sum({past}, axis = 0)) + {v}
{now}: f32[F] = tanh(A @ sum({past} * {s}, axis = 0)) + {v}
{now}: f32[F] = 0.1 * (exp({past} @ {v} * 0.1) @ {past}) + {v}
{now}: f32[F] = 0.1 * sum(cumsum({past}, axis = 0), axis = 0) + {v}
{y.h} = {o} when {d} == 0; {y.h} = {state}; {now} = {y.h} @ {v}
{y.h} = {o} when {d} == 0; {y.h} = {state}; {now} = max({y.h}, axis = 0) * {v}
{y.r} = nn.softmax({scores}); {now} = {y.r} @ {V}
{y.r} = tanh({V}); {now} = sum({y.r:far}, axis = 0) + {v}
{y.r} = cumsum({V}, axis = 0) * {v}; {now} = mean(concat([{y.r}, {y.r:far}], 0), axis = 0)
{y.r} = {V} @ A; {now} = ({y.r} @ {v}) @ {y.r}
{y.q} = first({v}, {s}) when {d} == 0; {y.q} = next({y.q:-1}, {v}, {s}); {now} = {y.q}.p * {y.q}.q
{y.p} = {v} * 2.0 when {d} % 2 == 0; {now} = {y.p:d - d % 2} + {v}
{y.p} = {v} * 2.0 when {d} % 2 == 0; {now} = sum({y.p:0:d+1:2}, axis = 0)
{y.p} = {v} * 2.0 when {d} >= {T}-2; {now} = max({y.p:max(d, max(T-2, 0)):T}, axis = 0)
{y.a:+1}, {y.b:-1} = {v}, {v}; {y.a} = {v}; {y.b} = {y.a} * 0.5; {now} = {y.a} - {y.b:T-1-d}
{now} = smooth({v}, {d}) * {v}
{now} = ssm.recur(sigmoid({v}), {v}, {d})
"""
)
LAYERED = _lines(
    """
{h} + nn.softmax({H} @ {h}) @ {H}
tanh(P[l] @ {h}) + mean({H}, axis = 0)
{h} + tanh(P[l] @ {h})
0.5 * {h} + 0.1 * sum({H}, axis = 0)
"""
)
"""A layer made of the one before, `{h}`, and of rows of that along the slice, `{H}`."""
