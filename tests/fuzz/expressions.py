"""Typed expressions over all operators: what is asked for is a dtype and a shape.

Floats stay small: what grows is wrapped in a function with bounded values, so that a difference
between two evaluations means a mistake and not chaos.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.operators import (
    BINARY,
    COMPARE,
    FUNCTIONS,
    HARSH,
    INT_BINARY,
    REDUCE,
    STEPPED,
    UINT_BINARY,
    UNARY,
)
from tests.fuzz.sketch import Scope, Shape, Sketch, Tensor


class Expression:
    """Writes expressions at one place of a program."""

    def __init__(self, sketch: Sketch, scope: Scope) -> None:
        self.sketch, self.scope = sketch, scope
        self.pick, self.chance = sketch.pick, sketch.chance

    def write(self, dtype: str = "f32", shape: Shape = (), depth: int = 2) -> str:
        """An expression that may stand as an operand."""
        if depth <= 0 or self.chance(0.15):
            return self.leaf(dtype, shape)
        if dtype == "f32":
            return self.floating(shape, depth)
        if dtype == "bool":
            return self.boolean(shape, depth)
        if dtype in ("i32", "u32"):
            return self.integer(dtype, shape, depth)
        return f"{dtype}({self.write('f32', shape, depth - 1)})"

    # ------------------------------------------------------------ leaves

    def leaf(self, dtype: str, shape: Shape) -> str:
        sketch = self.sketch
        known = sketch.known(dtype, shape)
        mine = [t for t in known if {*t.dims} <= {*self.scope.dims, *self.scope.fixed}]
        if mine and self.chance(0.85):
            # Late ones are read more often, so that chains arise.
            late = mine[-3:] if self.chance(0.5) else mine
            return sketch.read(self.pick(late), self.scope)
        if known and self.chance(0.6):
            return sketch.read(self.pick(known), self.scope)
        if shape:
            return self.filled(dtype, shape)
        return self.number(dtype)

    def number(self, dtype: str) -> str:
        d = self.pick(self.scope.dims) if self.scope.dims else "0"
        match dtype:
            case "f32":
                own = ("0.5", "2", "-1.0", "0.25", f"0.9 ** {d}", f"0.1 * {d}", "1e-3", f"f32({d})")
            case "i32":
                end = self.sketch.bound(d) if self.scope.dims else "3"
                own = ("2", "i32(3)", f"{d} % 3", d, f"({d} + 1) // 2", end, "-1")
                own = (*(f"({e})" if " " in e else e for e in own), f"i32({d})")
                return f"i32({self.pick(own)})"
            case "bool":
                return f"({d} % 2 == {self.pick('01')})" if self.scope.dims else "(i32(1) > 0)"
            case "u32":
                return f"u32({d} + {self.pick('125')})"
            case _:
                return f"{dtype}({self.pick(('0.5', '-1.25', d))})"
        chosen = self.pick(own)
        # A literal alone is weak; now and then that matters.
        return f"({chosen})" if " " in chosen or chosen[0] == "-" else chosen

    def filled(self, dtype: str, shape: Shape) -> str:
        """An array of a shape, from numbers."""
        text = ", ".join(map(str, shape))
        scalar = self.leaf(dtype, ())
        if dtype == "bool":
            return f"({self.filled('f32', shape)} > {self.leaf('f32', ())})"
        count = 1
        for n in shape:
            count *= n
        forms = (
            [f"full([{text}], {self.number(dtype)}, dtype = {dtype})"] if self.chance(0.3) else []
        )
        forms += [f"({scalar} * ones([{text}], dtype = {dtype}))"]
        forms += [f"(zeros([{text}], dtype = {dtype}) + {scalar})"]
        forms += [f"reshape({dtype}(arange({count})), [{text}])"]
        forms += [f"broadcast_to({dtype}({scalar}), [{text}])"]
        if len(shape) == 2 and shape[0] == shape[1]:
            forms.append(f"({scalar} * eye({shape[0]}, dtype = {dtype}))")
        self.sketch.note("creation")
        form = self.pick(forms)
        return f"(0.5 * {form})" if dtype == "f32" and "arange" in form else form

    # ------------------------------------------------------------ floats

    def floating(self, shape: Shape, depth: int) -> str:
        choices: list[tuple[int, Callable[[Shape, int], str]]] = [
            (24, self.unary), (28, self.binary), (6, self.conditional), (7, self.reduced),
            (9, self.gathered_in_time), (8, self.contracted), (8, self.moved), (4, self.scanned),
            (6, self.indexed), (4, self.cast), (3, self.chosen_in_time), (2, self.drawn),
            (3, self.called),
        ]  # fmt: skip
        at = self.sketch.random.randrange(sum(w for w, _ in choices))
        for weight, form in choices:
            at -= weight
            if at < 0:
                return form(shape, depth - 1)
        raise AssertionError

    def unary(self, shape: Shape, depth: int) -> str:
        forms = HARSH if self.chance(0.02) else STEPPED if self.chance(0.08) else UNARY
        self.sketch.note("harsh" if forms is HARSH else "elementwise")
        return self.pick(forms).replace("{}", self.write("f32", shape, depth))

    def binary(self, shape: Shape, depth: int) -> str:
        other = shape
        if shape and self.chance(0.3):
            other = shape[self.sketch.random.randrange(len(shape)) + 1 :]
            self.sketch.note("broadcast")
        pair = [self.write("f32", shape, depth), self.write("f32", other, depth - 1)]
        if self.chance(0.5):
            pair.reverse()
        return self.pick(BINARY).format(*pair)

    def conditional(self, shape: Shape, depth: int) -> str:
        kind = self.pick(("where", "where", "cond", "if", "if"))
        self.sketch.note(kind)
        a, b = self.write("f32", shape, depth), self.write("f32", shape, depth - 1)
        if kind == "where":
            return f"where({self.write('bool', self.pick((shape, ())), depth - 1)}, {a}, {b})"
        if kind == "cond":
            return f"cond({self.write('bool', (), depth)}, {a}, {b})"
        return f"({a} if {self.guard()} else {b})"

    def guard(self) -> str:
        """A condition on indices, true at some points and false at others."""
        if not self.scope.dims:
            return self.pick([f"{d.bound} >= 2" for d in self.sketch.dims.values()])
        t = self.pick(self.scope.dims)
        end = self.sketch.bound(t)
        forms = [f"{t} >= 1", f"{t} < 2", f"{t} % 2 == 0", f"{t} % 3 == 1", f"{t} < {end}-1"]
        forms += [f"{t} == {end}-1", f"not {t} == 1", f"{t} >= {end}//2"]
        if len(self.scope.dims) > 1:
            s = self.pick([d for d in self.scope.dims if d != t])
            forms += [f"{s} <= {t}", f"{s} == 0 or {t} >= 2", f"({t} + {s}) % 2 == 0", f"{s} < {t}"]
            self.sketch.note("guard with two dims")
        return self.pick(forms)

    def reduced(self, shape: Shape, depth: int) -> str:
        axis, size = self.sketch.random.randrange(len(shape) + 1), self.pick((1, 2, 3))
        inner = self.write("f32", (*shape[:axis], size, *shape[axis:]), depth)
        self.sketch.note("reduction")
        name = self.pick(REDUCE)
        inner = f"tanh({inner})" if name in ("prod", "var") else inner
        if not shape and self.chance(0.5):
            return f"{name}({inner})"
        if self.chance(0.15):
            return f"squeeze({name}({inner}, axis = {axis}, keepdims = true), {axis})"
        return f"{name}({inner}, axis = {axis})"

    def rows(self, shape: Shape, *, full: bool = True) -> tuple[str, str, str] | None:
        """Points of a tensor along a dimension as rows: with the slice and its dimension."""
        found = [t for t in self.sketch.known("f32", shape) if t.dims]
        if not found:
            return None
        tensor = self.pick(found)
        d = self.pick(tensor.dims)
        entry = self.sketch.slice(d, self.scope, full=full)
        return self.sketch.read(tensor, self.scope, {d: entry}), entry, d

    def gathered_in_time(self, shape: Shape, depth: int) -> str:
        """A reduction over points in time."""
        full = self.chance(0.8)
        rows = self.rows(shape, full=full)
        if rows is None:
            return self.unary(shape, depth)
        x = rows[0]
        self.sketch.note("reduction in time")
        first = ["tanh({})", "({} * 0.5)", "{}", "{}", "sort({}, axis = 0)", "flip({}, 0)"]
        first += ["cumsum({}, axis = 0)", "({} ** 2)"] * bool(shape or full)
        if full:
            first += ["({} - mean({}, axis = 0))", "nn.softmax({}, axis = 0)", "abs({})"]
            if not shape:
                first += ["({} * 0.5 ** arange(size({}, 0)))", "associative_scan(mul2, {}, 0)"]
        form = self.pick(first).replace("{}", x)
        self.settle(form)
        name = self.pick(REDUCE[:5] if full else ("sum",))
        if not shape and full and self.chance(0.15):
            return f"({form} @ {x})"
        out = f"{name}({form}, axis = 0)"
        return f"tanh({out})" if name == "sum" and self.chance(0.6) else out

    def settle(self, form: str) -> None:
        """What a form needs from elsewhere."""
        if "mul2" in form:
            self.sketch.functions["mul2"] = "def mul2(p, q) = 0.5 * p * q"
            self.sketch.note("associative_scan")
        for module in ("nn", "rl", "optim", "ssm", "loss"):
            if f"{module}." in form:
                self.sketch.need(module)
                self.sketch.note("stdlib")

    def contracted(self, shape: Shape, depth: int) -> str:
        k = self.pick((2, 3, self.sketch.width))
        self.sketch.note("contraction")
        if len(shape) == 0:
            a, b = (self.write("f32", (k,), depth) for _ in range(2))
            return self.pick((f"({a} @ {b})", f'einsum("i,i->", {a}, {b})'))
        if len(shape) == 1:
            m, v = self.write("f32", (shape[0], k), depth), self.write("f32", (k,), depth)
            return self.pick((f"({m} @ {v})", f"({v} @ {m}.T)", f'einsum("ij,j->i", {m}, {v})'))
        if len(shape) == 2:
            a, b = self.write("f32", (shape[0], k), depth), self.write("f32", (k, shape[1]), depth)
            outer = self.write("f32", shape[:1], depth), self.write("f32", shape[1:], depth)
            products = f"({a} @ {b})", f'einsum("ij,jk->ik", {a}, {b})'
            if self.chance(0.2):
                return self.solved(shape, depth)
            return self.pick((*products, 'einsum("i,j->ij", {}, {})'.format(*outer)))
        return self.unary(shape, depth)

    def solved(self, shape: Shape, depth: int) -> str:
        """A linear system, or a factor, of a matrix that is far from singular."""
        n, k = shape
        self.sketch.note("linear algebra")
        a, b = self.write("f32", (n, n), depth), self.write("f32", shape, depth)
        far = f"(0.3 * tanh({a}) + {n + 1}.0 * eye({n}))"
        forms = [f"solve({far}, {b})", f"triangular_solve({far}, {b}, lower = true)"]
        forms += [f"(inverse({far}) @ {b})", f"(logdet({far}) * {b})"]
        if n == k:
            forms.append(f"cholesky({far})")
        return self.pick(forms)

    def moved(self, shape: Shape, depth: int) -> str:
        """Layout: the same numbers elsewhere."""
        self.sketch.note("layout")
        if not shape:
            n = self.pick((2, 3))
            inner = self.write("f32", (n,), depth)
            return self.pick(
                (f"({inner})[{n - 1}]", f"({inner})[0]", f"squeeze(({inner})[0:1], 0)")
            )
        x, n = self.write("f32", shape, depth), shape[0]
        forms = [f"flip({x}, 0)", f"reshape(reshape({x}, [-1]), [{', '.join(map(str, shape))}])"]
        forms.append(f"concat([({x})[{n // 2}:{n}], ({x})[0:{n // 2}]], 0)" if n > 1 else x)
        forms.append(f"pad({x}, [[1, 0]{', [0, 0]' * (len(shape) - 1)}])[0:{n}]")
        forms.append(f"expand_dims({x}, 0)[0]")
        rows = [self.write("f32", shape[1:], depth - 1) for _ in range(n)]
        forms.append(f"stack([{', '.join(rows)}], 0)")
        forms.append(f"split(concat([{x}, {x}], 0), 2, 0)[1]")
        if len(shape) == 1 and shape[0] > 1:
            forms.append(f"irfft(rfft({x}), {n})")
        if len(shape) == 2:
            forms.append(f"{self.write('f32', shape[::-1], depth)}.T")
            forms.append(f"transpose({self.write('f32', shape[::-1], depth)}, [1, 0])")
        return self.pick(forms)

    def scanned(self, shape: Shape, depth: int) -> str:
        if not shape:
            rows = self.rows((), full=True)
            if rows is None:
                return self.unary(shape, depth)
            return f"tanh(sum(cumsum({rows[0]}, axis = 0)))"
        self.sketch.note("scan")
        x, axis = self.write("f32", shape, depth), self.sketch.random.randrange(len(shape))
        back = self.pick(("", ", reverse = true"))
        form = self.pick(
            (
                f"tanh(cumsum({x}, axis = {axis}{back}))",
                f"cumprod(tanh({x}), axis = {axis}{back})",
                f"cummax({x}, axis = {axis}{back})",
                f"associative_scan(mul2, {x}, {axis})",
            )
        )
        self.settle(form)
        return form

    def indexed(self, shape: Shape, depth: int) -> str:
        """Gathers, sorting, one-hot rows."""
        n = self.pick((2, 3))
        self.sketch.note("indexing")
        if self.chance(0.3):
            return self.gathered_rows(shape, depth)
        x = self.write("f32", (n, *shape), depth)
        j = f"({self.write('i32', (), depth)} % {n})"
        if self.chance(0.5) or not shape:
            hot = f"sum(one_hot({j}, {n}) * {x})" if not shape else f"take({x}, {j}, 0)"
            return self.pick((f"({x})[{j}]", f"take({x}, {j}, 0)", hot))
        y, m = self.write("f32", shape, depth), shape[0]
        many = f"({self.write('i32', (m,), depth)} % {m})"
        return self.pick(
            (
                f"sort({y}, axis = 0)",
                f"take_along({y}, argsort({y}, axis = 0), 0)",
                f"({y})[{many}]",
                f"take({y}, {many}, 0)",
                f"(one_hot({many}, {m}) @ {y})",
                f"segment_sum({y}, {many}, {m})",
                f"put({y}, {j}, ({y})[0])",
                f"segment_max(tanh({y}), {many}, {m})[{many}]",
                f"take({y}, searchsorted(sort(({y})[:{m - 1}], axis = 0), {y}), 0)"
                if len(shape) == 1
                else f"segment_min({y}, {many}, {m})[{many}]",
            )
        )

    def gathered_rows(self, shape: Shape, depth: int) -> str:
        """A sum over rows that index tensors choose, from one table or two, or from time."""
        m = self.pick((2, 3))
        tables = [(self.write("f32", (n, *shape), depth), str(n)) for n in (2, 3)]
        if rows := self.rows(shape):
            tables.append((rows[0], f"size({rows[0]}, 0)"))
        parts = []
        for _ in range(self.pick((1, 2, 2))):
            x, n = self.pick(tables)
            many = f"({self.write('i32', (m,), depth)} % {n})"
            parts.append(self.pick((f"({x})[{many}]", f"take({x}, {many}, 0)")))
        self.sketch.note("sum of gathered rows")
        return f"tanh(sum({self.pick((' * ', ' - ', ' + ')).join(parts)}, axis = 0))"

    def cast(self, shape: Shape, depth: int) -> str:
        self.sketch.note("cast")
        return f"f32({self.write(self.pick(('bool', 'i32', 'u32')), shape, depth)})"

    def chosen_in_time(self, shape: Shape, depth: int) -> str:
        """A point in time that the data choose."""
        known = [t for t in self.sketch.known("f32", shape) if t.dims]
        if not known:
            return self.unary(shape, depth)
        tensor = self.pick(known)
        d = self.pick(tensor.dims)
        end = self.sketch.bound(d)
        j = self.write("i32", (), min(depth, 1))
        ranges = [("0", end)]
        if d in self.scope.dims:
            ranges += [("0", f"{d}+1"), (d, end), (f"max(0, {d}-2)", f"{d}+1")]
        low, high = self.pick(ranges)
        at = f"{low} + {j} % ({high} - {low})" if low != "0" else f"{j} % ({high})"
        self.sketch.note("data-dependent access")
        return self.sketch.read(tensor, self.scope, {d: f"{at} in {low}:{high}"})

    def drawn(self, shape: Shape, depth: int) -> str:
        text = ", ".join(map(str, shape))
        self.sketch.note("random")
        x = self.write("f32", shape, depth)
        return (
            self.pick(
                (
                    f"random.normal([{text}])",
                    f"random.uniform([{text}])",
                    f"(0.1 * random.normal([{text}]) + {x})",
                    f"({x} * f32(random.bernoulli(0.5)))",
                    f"f32(random.categorical({self.write('f32', (3,), depth)}))",
                    "(0.1 * f32(random.permutation(3)[0]))",
                )
            )
            if not shape
            else self.pick((f"random.normal([{text}])", f"({x} * random.uniform([{text}]))"))
        )

    def called(self, shape: Shape, depth: int) -> str:
        x = self.write("f32", shape, depth)
        forms = [
            "nn.leaky_relu({x})",
            "nn.elu({x})",
            "leaky({x})",
            "twice({x}, sin)",
            "leaky({x}, 0.3)",
        ]
        if shape:
            forms += ["nn.softmax({x})", "nn.log_softmax({x})", "rounds({x}, [0.5, 0.25])"]
            forms += [f"nn.rms_norm({{x}}, ones([{shape[-1]}]))"]
        form = self.pick(forms)
        self.settle(form)
        if "nn." not in form:
            name = form.partition("(")[0]
            self.sketch.note("function")
            self.sketch.functions[name] = FUNCTIONS[name]
        return form.format(x=x)

    # ------------------------------------------------------------ integers and truth values

    def integer(self, dtype: str, shape: Shape, depth: int) -> str:
        self.sketch.note("integers")
        kind = self.sketch.random.randrange(8)
        if kind < 4:
            a, b = self.write(dtype, shape, depth - 1), self.write(dtype, shape, depth - 1)
            return self.pick(INT_BINARY if dtype == "i32" else UINT_BINARY).format(a, b)
        if kind == 4:
            a, b = self.write(dtype, shape, depth - 1), self.write(dtype, shape, depth - 1)
            return f"where({self.write('bool', shape, depth - 1)}, {a}, {b})"
        if kind == 5 and dtype == "i32" and not shape:
            name = self.pick(("argmax", "argmin"))
            return f"{name}({self.write('f32', (self.pick((2, 3)),), depth - 1)})"
        if kind == 6 and dtype == "i32" and not shape and (rows := self.rows(())):
            form = self.pick(("argmax({})", "sum(i32({} > 0.0))", "size({}, 0)"))
            return form.format(rows[0])
        source = self.write("f32", shape, depth - 1) if kind == 7 else None
        number = f"floor(4.0 * {source})" if source else self.write("bool", shape, depth - 1)
        return f"{dtype}(abs({number}))" if source else f"{dtype}({number})"

    def boolean(self, shape: Shape, depth: int) -> str:
        self.sketch.note("bools")
        kind = self.sketch.random.randrange(8)
        if kind < 4:
            a, b = (self.write("f32", shape, depth - 1) for _ in range(2))
            return f"({a} {self.pick(COMPARE[:4])} {b})"
        if kind == 4:
            a, b = (self.write("i32", shape, depth - 1) for _ in range(2))
            return f"({a} {self.pick(COMPARE)} {b})"
        a = self.write("bool", shape, depth - 1)
        if kind == 5:
            return f"({a} {self.pick(('and', 'or'))} {self.write('bool', shape, depth - 1)})"
        if kind == 6:
            more = self.write("bool", (*shape, 2), depth - 1)
            return f"{self.pick(('any', 'all'))}({more}, axis = {len(shape)})"
        x = self.write("f32", shape, depth - 1)
        return self.pick((f"(not {a})", f"isnan({x})", f"isinf({x})"))


def expression(
    sketch: Sketch, scope: Scope, shape: Shape = (), depth: int = 2, dtype: str = "f32"
) -> str:
    """An expression of a type at a place."""
    return Expression(sketch, scope).write(dtype, shape, depth)


def plain(sketch: Sketch, scope: Scope, tensor: Tensor) -> str:
    """An access at the point of the equation, wherever that is."""
    return sketch.at(tensor.name, tensor.dims, {d: scope.fixed.get(d, d) for d in tensor.dims})
