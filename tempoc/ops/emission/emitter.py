"""The emitter of kernel bodies: operators append lines of text, with deterministic names.

A line is ``name = text``. Dimensions are variables of the kernel (traced ``i32`` scalars), bounds
are Python integers. Masks and moved operands are emitted once and reused (value numbering).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from keyword import iskeyword
from types import MappingProxyType

from tempoc.base.names import Names
from tempoc.ops.definition.dtype_text import bare, jax_dtype, scalar
from tempoc.ops.definition.operator import EmittedValue, ImportedFunction, Stretch
from tempoc.ops.definition.padding import along, take_text
from tempoc.symbolic.expr import (
    ONE,
    ZERO,
    Conjunction,
    Const,
    Disjunction,
    Expr,
    FloorDiv,
    IndexMax,
    IndexMin,
    IndexProduct,
    IndexSum,
    Mod,
    Negation,
    Relation,
    Sym,
    Truth,
    maximum,
    sub,
)  # fmt: skip
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True)
class KernelBlock:
    """A part of a kernel: its lines, the text of its result, its checks and their messages."""

    lines: tuple[str, ...]
    text: str
    wrong: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


class KernelEmitter:
    """The concrete ``Emitter``.

    ``dims`` are the kernel's dimensions; ``bound`` gives the least known upper bound, over bounds
    only, of an extent that names some of them; ``names`` must not hand out the names of dimensions
    and bounds, nor ``jnp``, ``lax``, ``jax`` and what is in ``imports``, names of the
    user's functions. ``lines`` is the code so far, without indentation.

    Kernels cannot raise. A ``check`` becomes a boolean in the kernel, ``checks`` collects the
    messages, and ``failure`` is the text of one more ``i32`` result: 0 when all conditions held,
    else the number, counted from 1, of the first that did not. The runner tests it.

    ``mapped`` has the dimensions at whose points ``jax.vmap`` will run the code so far, ``points``
    says how many that are. ``spelled`` gives the variables of dimensions and bounds.
    ``ahead`` has the arrays of which a function of one point must know whether they are finite, and
    what that is called; who writes the call of that function says so ahead of it.
    """

    def __init__(
        self,
        *,
        dims: Iterable[str],
        bound: Callable[[Expr], Expr],
        names: Names,
        imports: Mapping[ImportedFunction, str] = MappingProxyType({}),
        mapped: tuple[str, ...] = (),
        points: Expr = ONE,
        spelled: Callable[[str], str] = str,
    ) -> None:
        self.dims = tuple(dims)
        self.mapped = mapped
        self.points = points
        self._variable = spelled
        self.lines: list[str] = []
        self.checks: list[str] = []
        self.ahead: dict[str, str] = {}
        self.names = names
        self._bound = bound
        self._imports = imports
        self._wrong: list[str] = []
        self._known: dict[tuple[object, ...], str] = {}

    def bind(self, hint: str, text: str) -> str:
        """Write ``name = text`` and return the name: ``hint`` or, if that is taken, one like it."""
        good = hint.isidentifier() and not iskeyword(hint)
        name = self.names.fresh(hint if good else "value")
        self.lines.append(f"{name} = {text}")
        return name

    def assign(self, name: str, text: str) -> None:
        """Reassign a name; memoized texts that use it are dropped."""
        self.lines.append(f"{name} = {text}")
        self._known = {key: known for key, known in self._known.items() if name not in key}

    def imported(self, function: ImportedFunction) -> str:
        """The name under which the kernels import a function of the user's."""
        return self._imports[function]

    # ------------------------------------------------------------ functions within

    def apart(self, write: Callable[[], str]) -> KernelBlock:
        """The lines and checks of a nested block, and the text of its result.

        Texts memoized in it are not reused after it.
        """
        lines, before_wrong, known = self.lines, self._wrong, self._known
        before = len(self.checks)
        self.lines, self._wrong, self._known = [], [], dict(known)
        text = write()
        block = KernelBlock(
            tuple(self.lines), text, tuple(self._wrong), tuple(self.checks[before:])
        )
        del self.checks[before:]
        self.lines, self._wrong, self._known = lines, before_wrong, known
        return block

    def function(
        self, hint: str, parameters: tuple[str, ...], write: Callable[[tuple[str, ...]], str]
    ) -> str:
        """Write a function within the kernel and return its name; see ``Emitter``."""
        names = tuple(self.names.fresh(p) for p in parameters)
        block = self.apart(lambda: write(names))
        assert not block.wrong, f"{hint} cannot check anything"
        name = self.names.fresh(hint)
        self._define(name, names, block.lines, block.text)
        return name

    def _define(
        self, name: str, parameters: tuple[str, ...], lines: tuple[str, ...], value: str
    ) -> None:
        self.lines.append(f"def {name}({', '.join(parameters)}):")
        self.lines += [f"    {line}" for line in (*lines, f"return {value}")]

    def choose(
        self, hints: tuple[str, ...], condition: str, then: KernelBlock, orelse: KernelBlock
    ) -> tuple[str, ...]:
        """Write both blocks as functions and a ``lax.cond`` of them; the names of the results.

        There is a hint for each of the results, whose texts the blocks join by commas. A check in
        the block that does not run holds.
        """
        count = len(then.wrong), len(orelse.wrong)
        functions = []
        for word, block in (("then", then), ("else", orelse)):
            fine = [("jnp.int32(0)",) * n for n in count]
            fine[0 if block is then else 1] = block.wrong
            returned = [block.text, *fine[0], *fine[1]]
            functions.append(self.names.fresh(f"{hints[0]}_{word}"))
            several = len(returned) > 1 or len(hints) > 1
            value = f"({', '.join(returned)})" if several else block.text
            self._define(functions[-1], (), block.lines, value)
        names = tuple(self.names.fresh(hint) for hint in hints)
        wrong = [self.names.fresh("wrong") for _ in range(sum(count))]
        self.lines.append(
            f"{', '.join([*names, *wrong])} = lax.cond({condition}, {', '.join(functions)})"
        )
        self._wrong += wrong
        self.checks += (*then.checks, *orelse.checks)
        return names

    # ------------------------------------------------------------ index expressions

    def index(self, e: Expr) -> str:
        """An index expression: traced if it names dimensions, else Python's own arithmetic."""
        return str(e.value) if isinstance(e, Truth) else show(self._traced(e))

    def static(self, e: Expr) -> str:
        """An expression over bounds only. ``ValueError`` if it names a dimension."""
        if self._varies(e):
            raise ValueError(f"{show(e)} is not known when a kernel is traced")
        return show(self._spelled(e))

    def pad(self, e: Expr) -> Expr:
        """The least known upper bound; an expression over bounds is its own."""
        return self._bound(e) if self._varies(e) else e

    def _varies(self, e: Expr) -> bool:
        return any(s in self.dims for s in symbols(e))

    def _traced(self, e: Expr) -> Expr:
        """The expression with operations that Python lacks for arrays as calls of JAX.

        A subexpression that is emitted as text becomes a symbol with that text.
        """
        if not self._varies(e):
            return self._spelled(e)
        match e:
            case IndexSum(terms=terms, const=k):
                return IndexSum(tuple((c, self._traced(x)) for c, x in terms), k)
            case IndexProduct(factors=fs):
                return IndexProduct(tuple(self._traced(f) for f in fs))
            case FloorDiv(arg=a, divisor=k):
                return FloorDiv(self._traced(a), k)
            case Mod(arg=a, divisor=k):
                return Mod(self._traced(a), k)
            case Relation(op=op, left=a, right=b):
                return Relation(op, self._traced(a), self._traced(b))
            case IndexMin(args=args) | IndexMax(args=args):
                return self._extremum("minimum" if isinstance(e, IndexMin) else "maximum", args)
            case Conjunction(args=args) | Disjunction(args=args):
                word = " & " if isinstance(e, Conjunction) else " | "
                return Sym(word.join(f"({self.index(a)})" for a in args))
            case Negation(arg=a):
                return Sym(f"~({self.index(a)})")
            case _:
                return self._spelled(e)

    def _spelled(self, e: Expr) -> Expr:
        """The expression with the variables for its dimensions and bounds."""
        other = {n: Sym(v) for n in symbols(e) if (v := self._variable(n)) != n}
        return substitute(e, other) if other else e

    def _extremum(self, name: str, args: tuple[Expr, ...]) -> Expr:
        text = self.index(args[0])
        for a in args[1:]:
            text = f"jnp.{name}({text}, {self.index(a)})"
        return Sym(text)

    # ------------------------------------------------------------ ragged arrays

    def valid(self, v: EmittedValue, axis: int) -> str:
        """A boolean mask of the valid positions, shaped to broadcast."""
        extent = v.type.shape[axis]
        amid = v.stretch(axis)
        ends = (amid.start, amid.stop, amid.begin) if amid else (axis in v.last,)
        key = ("valid", v.padded[axis], extent, v.type.ndim - axis, *ends)
        if key not in self._known:
            steps = self._steps(v, axis)
            mask = f"{steps} < {self.index(extent)}"
            if amid is not None:
                spots = self.spots(v, amid)
                mask = f"{spots} >= {self.index(amid.start)}"
                mask = f"({mask}) & ({spots} < {self.index(amid.stop)})"
            if axis in v.last:
                mask = f"{steps} >= {self.index(_start(v, axis))}"
            spread = along(f"({mask})", axis, v.type.ndim)
            text = mask if spread == f"({mask})" else spread
            self._known[key] = self.bind("valid", text)
        return self._known[key]

    def masked(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """The name of ``v`` with ``neutral`` at invalid positions of these axes."""
        ragged = [k for k in axes if v.is_ragged(k)]
        if not ragged:
            return v.text
        key = (v.text, tuple(ragged), v.type.shape, neutral)
        if key not in self._known:
            name = self.bind(f"{v.text}_masked", self.masking(v, axes, neutral))
            self._known[key] = name
        return self._known[key]

    def masking(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """The text that ``masked`` binds."""
        mask = " & ".join(self.valid(v, k) for k in axes if v.is_ragged(k))
        alike = neutral.startswith(f"{jax_dtype(v.type.dtype)}(")
        return f"jnp.where({mask}, {v.text}, {bare(neutral) if alike else neutral})"

    def finite(self, v: EmittedValue) -> str:
        """The name of a boolean scalar that is computed ``ahead`` of the function of a point."""
        if not v.shared:
            return ""
        if v.shared not in self.ahead:
            self.ahead[v.shared] = self.names.fresh(f"{v.shared}_finite")
        return self.ahead[v.shared]

    def align(self, v: EmittedValue, padded: tuple[Expr, ...]) -> EmittedValue:
        """``v`` with these padded extents: padding is cut, or extended by zeros."""
        if v.padded == padded:
            return v
        v = self.first(v, tuple(s.axis for s in v.amid if v.padded[s.axis] != padded[s.axis]))
        key = (v.text, v.padded, padded, v.last)
        if key not in self._known:
            self._known[key] = self.bind(v.text, self._fitted(v, padded))
        return replace(v, text=self._known[key], padded=padded)

    def _fitted(self, v: EmittedValue, padded: tuple[Expr, ...]) -> str:
        """Cut where that is plain, else ``lax.pad``, which also cuts (by negative padding)."""
        missing = [sub(want, have) for have, want in zip(v.padded, padded, strict=True)]
        if not v.last and all(isinstance(m, Const) and m.value <= 0 for m in missing):
            cuts = [
                ":" if m == Const(0) else f":{self.static(want)}"
                for m, want in zip(missing, padded, strict=True)
            ]
            while cuts[-1] == ":":
                cuts.pop()
            return f"{v.text}[{', '.join(cuts)}]"
        ends = [
            (self.static(m), "0") if k in v.last else ("0", self.static(m))
            for k, m in enumerate(missing)
        ]
        config = ", ".join(f"({low}, {high}, 0)" for low, high in ends)
        comma = "," if len(missing) == 1 else ""
        return f"lax.pad({v.text}, {scalar(0, v.type.dtype)}, ({config}{comma}))"

    def first(self, v: EmittedValue, axes: tuple[int, ...]) -> EmittedValue:
        """``v`` with valid elements first along these axes and the padding after them."""
        for axis in (k for k in v.last if k in axes):
            key = ("first", v.text, v.type.shape, axis)
            if key not in self._known:
                places = f"{self.index(_start(v, axis))} + {self._steps(v, axis)}"
                self._known[key] = self.bind(v.text, take_text(v.text, places, axis))
            others = tuple(k for k in v.last if k != axis)
            v = replace(v, text=self._known[key], shared="", finite=False, last=others)
        for stretch in (s for s in v.amid if s.axis in axes):
            first = self.index(sub(stretch.start, stretch.begin))
            places = f"{first} + {self._steps(v, stretch.axis)}"
            left = tuple(s for s in v.amid if s != stretch)
            v = replace(self._at(v, stretch, places, "first"), amid=left)
        return v

    def moved(self, v: EmittedValue, to: Stretch) -> EmittedValue:
        """``v``, whose valid elements come first along an axis, moved to a stretch."""
        places = f"{self.spots(v, to)} - {_bracketed(self.index(to.start))}"
        return replace(self._at(v, to, places, "moved"), amid=(*v.amid, to))

    def _steps(self, v: EmittedValue, axis: int) -> str:
        return f"jnp.arange({self.static(v.padded[axis])}, dtype=jnp.int32)"

    def spots(self, v: EmittedValue, stretch: Stretch) -> str:
        """The positions of a stretch in the whole array."""
        key = ("spots", v.padded[stretch.axis], stretch.begin)
        if key not in self._known:
            text = f"{self.index(stretch.begin)} + {self._steps(v, stretch.axis)}"
            self._known[key] = self.bind("spots", text)
        return self._known[key]

    def _at(self, v: EmittedValue, stretch: Stretch, places: str, how: str) -> EmittedValue:
        """The elements gathered from other positions of an axis."""
        key = (how, v.text, v.type.shape, stretch)
        if key not in self._known:
            self._known[key] = self.bind(v.text, take_text(v.text, places, stretch.axis))
        return replace(v, text=self._known[key], shared="", finite=False)

    # ------------------------------------------------------------ checks

    def check(self, condition: str, message: str, value: str = "") -> None:
        """Emit a run-time check; see the class.

        Its value is an ``i32``: 0, or a positive number that encodes the wrong value.
        """
        text = f"wrong_value({value}, {condition})"
        if not value:
            text = f"jnp.where({condition}, 0, jnp.int32(1))"
        self._wrong.append(self.bind("wrong", text))
        self.checks.append(message)

    def failure(self) -> str:
        """The text of the first check that failed, with the wrong value; see ``FIRST_WRONG``."""
        return f"first_wrong({', '.join(self._wrong)})"


def _bracketed(text: str) -> str:
    return f"({text})" if re.search(r"[-+]", text) else text


def _start(v: EmittedValue, axis: int) -> Expr:
    """The first valid position of an axis whose valid elements come last; its length if none is."""
    extent = v.type.shape[axis]
    if isinstance(extent, IndexMax) and ZERO in extent.args:
        nonzero = tuple(a for a in extent.args if a != ZERO)
        extent = maximum(*nonzero)  # no position is left over where the others are negative
    return sub(v.padded[axis], extent)
