"""States: tensors that read earlier or later points of themselves, as people write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.fuzz.expressions import expression
from tests.fuzz.sketch import Scope, Shape, Sketch, Tensor


class State:
    """A state in the making: its name, its dimensions, and the one along which it goes."""

    def __init__(self, sketch: Sketch, *, dims: tuple[str, ...] | None = None) -> None:
        self.sketch = sketch
        self.name = sketch.fresh(sketch.pick("hsmxz"))
        self.along = sketch.pick([*sketch.dims])
        others = [d for d in sketch.dims if d != self.along]
        self.dims = dims or sketch.ordered((self.along, *sketch.some(others, 0.4)))
        self.shape: Shape = sketch.pick(((), (sketch.width,), (sketch.width,)))
        if len(self.dims) > 1:
            sketch.note("state with outer dims")

    def at(self, name: str = "", **entries: str) -> str:
        return self.sketch.at(name or self.name, self.dims, entries)

    def expression(self, fixed: Mapping[str, str] | None = None, depth: int = 2) -> str:
        """Something of the state's shape; some dimensions have a value there."""
        given = fixed or {}
        scope = Scope(tuple(d for d in self.dims if d not in given), given)
        return expression(self.sketch, scope, self.shape, depth)

    def step(self, before: str, depth: int = 1) -> str:
        """The next value from the one before; it stays small."""
        sketch = self.sketch
        forms = ["tanh({h} + {e})", "0.5 * {h} + {e}", "tanh({h}) * 0.9 - 0.1 * {e}"]
        forms += ["where({c}, {h}, tanh({e}))", "maximum(0.5 * {h}, {e})", "sin({h}) + {e}"]
        forms += ["cond({c}, 0.5 * {h}, {e})", "0.9 * {h} + 0.1 * {e}", "tanh({e} * {h} + 0.1)"]
        if self.shape:
            n = self.shape[0]
            W = sketch.pick([*sketch.known("f32", (n, n)), None])
            if W is not None:
                scope = Scope(self.dims)
                forms += [f"tanh({sketch.read(W, scope)} @ {{h}} + {{e}})"] * 4
        scalar = expression(sketch, Scope(self.dims), (), 1, "bool")
        return sketch.pick(forms).format(h=before, e=self.expression(depth=depth), c=scalar)

    def define(self, *lines: str) -> Tensor:
        return self.sketch.define(Tensor(self.name, self.dims, "f32", self.shape), *lines)

    def also(self, name: str, dims: tuple[str, ...] | None = None) -> Tensor:
        """One more tensor of the same type."""
        tensor = Tensor(name, self.dims if dims is None else dims, "f32", self.shape)
        return self.sketch.define(tensor)


def forwards(s: State) -> None:
    t, h = s.along, s.at()
    start, before = s.at(**{t: "0"}), s.at(**{t: f"{t}-1"})
    first = s.expression({t: "0"})
    forms = {
        "h[t] = f(h[t-1])": [f"{start} = {first}", f"{h} = {s.step(before)}"],
        "h[t+1] = f(h)": [f"{start} = {first}", f"{s.at(**{t: f'{t}+1'})} = {s.step(h)}"],
        "when t >= 1": [
            f"{h} = {s.step(before)} when {t} >= 1",
            f"{h} = {s.expression()}",
        ],
        "a if c else b": [
            f"{h} = {s.step(f'({before} if {t} >= 1 else {s.expression(depth=1)})')}"
        ],
    }
    kind = s.sketch.pick([*forms])
    s.sketch.note(kind)
    s.define(*forms[kind])


def backwards(s: State) -> None:
    t, end = s.along, s.sketch.bound(s.along)
    s.sketch.note("h[T-1] = ..; h[t] = f(h[t+1])")
    last = s.at(**{t: f"{end}-1"})
    lines = [f"{last} = {s.expression({t: f'{end}-1'})}"]
    if s.sketch.chance(0.7):
        lines.append(f"{s.at()} = {s.step(s.at(**{t: f'{t}+1'}))}")
    else:
        lines.append(f"{s.at(**{t: f'{t}-1'})} = {s.step(s.at())}")
    s.define(*lines)


def named_next(s: State) -> None:
    """`h[t+1] = n; n = f(h)`: the next value has a name, and the state further equations."""
    t, sketch = s.along, s.sketch
    n = sketch.fresh("n")
    later = s.at(**{t: f"{t}+1"})
    starts = [f"{s.at(**{t: '0'})} = {s.expression({t: '0'})}"]
    if sketch.chance(0.5):
        starts = [f"{s.at()} = {s.expression(depth=1)} when {t} < {sketch.pick('123')}"]
        sketch.note("x[t] = c when t < 2; x[t+1] = n")
    elif sketch.chance(0.3):
        starts.insert(0, f"{s.at()} = {s.expression(depth=1)} when {t} % 3 == 1")
        sketch.note("state with further equations")
    step = s.step(s.at())
    s.define(*starts, f"{later} = {s.at(n)}", f"{s.at(n)} = {step}")
    s.also(n)


def longer(s: State) -> None:
    t, h = s.along, s.at()
    one, two = (s.at(**{t: f"{t}-{k}"}) for k in (1, 2))
    kind = s.sketch.pick(("two", "strided", "reset", "far", "half", "until k"))
    s.sketch.note(f"state: {kind}")
    if kind == "two":
        lines = [f"{h} = {s.step(f'(0.5 * {one} + 0.4 * {two})')} when {t} >= 2"]
    elif kind == "strided":
        k = s.sketch.pick((2, 3))
        before = s.at(**{t: f"{t}-{k}"})
        lines = [f"{h} = {s.step(before)} when {t} >= {k}"]
    elif kind == "reset":
        guard = f"{t} % {s.sketch.pick('234')} == 0"
        s.define(f"{h} = {s.expression(depth=1)} when {guard}", f"{h} = {s.step(one)}")
        return
    elif kind == "far":
        lines = [f"{h} = {s.step(s.at(**{t: '0'}))} when {t} >= 1"]
    elif kind == "half":
        lines = [f"{h} = {s.step(s.at(**{t: f'{t}//2'}))} when {t} >= 1"]
    else:
        lines = [f"{h} = {s.step(one)} when {t} >= 1 and {t} < {s.sketch.pick('345')}"]
    s.define(*lines, f"{h} = {s.expression(depth=1)}")


def past(s: State) -> None:
    """The state reads a slice of its own past or future."""
    t, end = s.along, s.sketch.bound(s.along)
    window = s.sketch.pick(
        (f"0:{t}", f"max(0, {t}-2):{t}", f"0:{t}:2", f"{t}+1:{end}", f"{t}//2:{t}")
    )
    rows = s.at(**{t: window})
    form = s.sketch.pick(("sum({}, axis = 0)", "tanh(sum({}, axis = 0))", "sum(sin({}), axis = 0)"))
    s.sketch.note("state reads its past")
    s.define(f"{s.at()} = 0.3 * {form.format(rows)} + {s.expression()}")


def mutual(s: State) -> None:
    """Two or three tensors that read each other."""
    t, sketch = s.along, s.sketch
    names = [s.name, *(sketch.fresh("q") for _ in range(sketch.pick((1, 1, 2))))]
    sketch.note("mutual group")
    lines = [f"{s.at(n, **{t: '0'})} = {s.expression({t: '0'}, 1)}" for n in names]
    for number, n in enumerate(names):
        other = names[number - 1]
        now = number > 0 and sketch.chance(0.5)
        read = s.at(other) if now else s.at(other, **{t: f"{t}-1"})
        own = s.at(n, **{t: f"{t}-1"})
        both = s.sketch.pick((f"(0.5 * {read} - 0.5 * {own})", f"({read} * {own})", read))
        lines.append(f"{s.at(n)} = {s.step(both)}")
    s.define(*lines)
    for n in names[1:]:
        s.also(n)


def record(s: State) -> None:
    """A pendulum, an optimizer: a record is the state."""
    t, h, sketch = s.along, s.at(), s.sketch
    p, v = sketch.fresh("p"), sketch.fresh("v")
    sketch.note("record state")
    first = f"{{p: {s.expression({t: '0'}, 1)}, v: {s.expression({t: '0'}, 1)}}}"
    if sketch.chance(0.5):
        n, step = sketch.fresh("n"), s.step(f"{s.name}.v")
        lines = [
            f"{s.at(**{t: '0'})} = {first}",
            f"{s.at(**{t: f'{t}+1'})} = {n}",
            f"{n} = {{p: {s.name}.p + 0.1 * {s.name}.v, v: {step} - 0.1 * {s.name}.p}}",
        ]
        if len(s.dims) > 1 and sketch.chance(0.4):
            other = sketch.pick([d for d in s.dims if d != t])
            end = sketch.bound(t)
            back = s.at(n, **{t: f"{end}-1"})
            lines[0] = f"{s.at(**{t: '0', other: '0'})} = " + (
                f"{{p: {s.expression({t: '0', other: '0'}, 1)}, v: 0.1}}"
            )
            lines.insert(
                2,
                f"{s.at(**{t: '0', other: f'{other}+1'})} = {{p: 0.5 * {back}.p, v: {back}.v}}",
            )
            sketch.note("record state from episode to episode")
    else:
        b = s.at(**{t: f"{t}-1"})
        step = f"{{v: {s.step(f'{b}.v')}, p: 0.9 * {b}.p + {b}.v * 0.1}}"
        lines = [f"{s.at(**{t: '0'})} = {first}", f"{h} = {step}"]
    # Fields are read as tensors: by name for all points.
    sketch.lines += [*lines, f"{s.at(p)} = {h}.p", f"{s.at(v)} = tanh({h}.v)"]
    s.also(p)
    s.also(v)


def integrator(s: State) -> None:
    """A place and a speed: the force at the next place enters the next speed."""
    t, sketch = s.along, s.sketch
    v, g = sketch.fresh("v"), sketch.fresh("g")
    sketch.note("force at the next place")
    end = sketch.bound(t)
    start, after = ("0", f"{t}+1") if sketch.chance(0.7) else (f"{end}-1", f"{t}-1")
    now, ahead = s.at(g), s.at(g, **{t: after})
    force = sketch.pick((ahead, ahead, f"({now} + {ahead})", f"({ahead} - 0.5 * {now})"))
    speed = sketch.pick((s.at(v), f"({s.at(v)} - 0.1 * {now})"))
    lines = [
        f"{s.at(**{t: start})} = {s.expression({t: start}, 1)}",
        f"{s.at(v, **{t: start})} = {s.expression({t: start}, 1)}",
        f"{now} = {s.step(s.at())}",
        f"{s.at(**{t: after})} = 0.9 * {s.at()} + 0.1 * {speed}",
        f"{s.at(v, **{t: after})} = 0.9 * {s.at(v)} - 0.1 * {force}",
    ]
    s.define(*lines)
    s.also(v)
    s.also(g)


def two_dims(sketch: Sketch) -> tuple[str, str] | None:
    """Two different dimensions, in any order."""
    if len(sketch.dims) < 2:
        return None
    names = [*sketch.dims]
    a = sketch.pick(names)
    return a, sketch.pick([d for d in names if d != a])


def layered(s: State) -> None:
    """What leaves the last layer enters the first one of the next step."""
    sketch, pair = s.sketch, two_dims(s.sketch)
    if pair is None:
        return named_next(s)
    t, l = pair  # noqa: E741
    others = [d for d in s.dims if d not in pair]
    s.dims, y = sketch.ordered((*pair, *others)), sketch.fresh("y")
    end = sketch.bound(l)
    sketch.note("layers feed the next step")
    back = s.at(y, **{t: f"{t}-1", l: f"{end}-1"})
    back = sketch.pick((back, back, f"tanh({back})", f"0.5 * {back} + 0.1"))
    zero = s.expression({t: "0", l: "0"}, 1)
    lines = [
        f"{s.at(**{t: '0', l: '0'})} = {zero}",
        f"{s.at(**{l: '0'})} = {back}",
        f"{s.at(**{l: f'{l}+1'})} = {s.at(y)}",
        f"{s.at(y)} = {s.step(s.at())}",
    ]
    if sketch.chance(0.3):
        lines[2] = f"{s.at()} = {s.at(y, **{l: f'{l}-1'})}"
    s.define(*lines)
    s.also(y)
    return None


def chunked(s: State) -> None:
    """Truncated backpropagation: a state goes on from chunk to chunk."""
    sketch, pair = s.sketch, two_dims(s.sketch)
    if pair is None:
        return longer(s)
    i, t = pair
    others = [d for d in s.dims if d not in pair]
    s.dims, h2, end = sketch.ordered((*pair, *others)), sketch.fresh("n"), sketch.bound(t)
    sketch.note("chunks hand on a state")
    last = s.at(h2, **{t: f"{end}-1"})
    lines = [
        f"{s.at(**{i: '0', t: '0'})} = {s.expression({i: '0', t: '0'}, 1)}",
        f"{s.at(**{t: f'{t}+1'})} = {s.at(h2)}",
        f"{s.at(**{i: f'{i}+1', t: '0'})} = {sketch.pick((last, f'0.5 * {last}'))}",
        f"{s.at(h2)} = {s.step(s.at())}",
    ]
    s.define(*lines)
    s.also(h2)
    return None


def nested(s: State) -> None:
    """An inner iteration that starts anew at each outer point, and may hand on its result."""
    sketch, pair = s.sketch, two_dims(s.sketch)
    if pair is None:
        return forwards(s)
    i, t = pair
    s.dims, end = sketch.ordered(pair), sketch.bound(t)
    w, o = sketch.fresh("w"), sketch.fresh("o")
    final = s.at(**{t: f"{end}-1"})
    sketch.note("nested iteration")
    if sketch.chance(0.5):
        lines = [f"{s.at(**{t: '0'})} = {s.expression({t: '0'}, 1)}"]
        lines += [f"{s.at(**{t: f'{t}+1'})} = {s.step(s.at())}", f"{o}[{i}] = tanh({final})"]
        s.define(*lines)
        s.also(o, (i,))
        return None
    start = State(sketch, dims=(i,))
    start.shape = s.shape
    lines = [f"{w}[0] = {start.expression({i: '0'}, 1)}", f"{s.at(**{t: '0'})} = {w}[{i}]"]
    lines += [f"{s.at(**{t: f'{t}+1'})} = {s.step(s.at())}", f"{w}[{i}+1] = 0.7 * {final}"]
    s.define(*lines)
    s.also(w, (i,))
    return None


def table(s: State) -> None:
    """Dynamic programming over two dimensions."""
    sketch, pair = s.sketch, two_dims(s.sketch)
    if pair is None:
        return longer(s)
    i, j = pair
    s.dims, s.shape = sketch.ordered(pair), ()
    sketch.note("table")
    up, left = s.at(**{i: f"{i}-1"}), s.at(**{j: f"{j}-1"})
    corner = s.at(**{i: f"{i}-1", j: f"{j}-1"})
    best = sketch.pick(
        (
            f"minimum({up} + 1, minimum({left} + 1, {corner} + {s.expression(depth=1)}))",
            f"0.4 * {up} + 0.4 * {left} + {s.expression(depth=1)}",
            f"tanh({up} - {corner}) + 0.3 * {left}",
        )
    )
    if sketch.chance(0.5):
        edge = sketch.pick((f"0.1 * ({i} + {j})", s.expression(depth=1)))
        lines = [f"{s.at()} = {edge} when {i} == 0 or {j} == 0", f"{s.at()} = {best}"]
    else:
        lines = [f"{s.at(**{i: '0'})} = {s.expression({i: '0'}, 1)}"]
        lines += [f"{s.at(**{j: '0'})} = {s.expression({j: '0'}, 1)}", f"{s.at()} = {best}"]
    s.define(*lines)
    return None


STATES: tuple[Callable[[State], None], ...] = (
    forwards, forwards, forwards, backwards, backwards, named_next, named_next, longer, longer,
    past, mutual, record, layered, layered, chunked, nested, table, integrator,
)  # fmt: skip


def state(sketch: Sketch) -> None:
    """One more state."""
    sketch.pick(STATES)(State(sketch))
