"""The emitter of kernel bodies: operators append lines of text, with deterministic names.

A line is ``name = text``. Dimensions are variables of the kernel (traced ``i32`` scalars), bounds
are Python integers. Masks and moved operands are emitted once and reused (value numbering).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tempoc.base.names import Names
from tempoc.base.python_text import is_identifier
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import bare, jax_dtype, scalar
from tempoc.ops.definition.operator import EmittedValue, ImportedFunction, Interval
from tempoc.symbolic import expr as ix
from tempoc.symbolic.expr import Expr
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
    else the number, counted from 1, of the first that did not. The runner tests it. ``needed`` is
    the condition on the point under which what is being written is read: elsewhere checks hold.

    ``mapped`` has the dimensions at whose points ``jax.vmap`` will run the code so far, ``points``
    says how many that are. ``spelled`` gives the variables of dimensions and bounds. ``fits`` tells
    whether a size is at most an extent, both over bounds only.
    ``ahead`` has the arrays that masks spare if all of them are finite. That is known ahead of the
    function of a point, which is written once for both cases: ``finite`` is a Python boolean in it.
    """

    def __init__(
        self,
        *,
        dims: Iterable[str],
        bound: Callable[[Expr], Expr],
        names: Names,
        imports: Mapping[ImportedFunction, str] = MappingProxyType({}),
        mapped: tuple[str, ...] = (),
        points: Expr = ix.ONE,
        spelled: Callable[[str], str] = str,
        fits: Callable[[Expr, Expr], bool] = operator.eq,
    ) -> None:
        self.dims = tuple(dims)
        self.mapped = mapped
        self.points = points
        self._variable = spelled
        self.lines: list[str] = []
        self.checks: list[str] = []
        self.ahead: dict[str, None] = {}
        self.all_finite = ""
        self.needed: Expr = ix.TRUE
        self.names = names
        self._bound = bound
        self._fits = fits
        self._imports = imports
        self._wrong: list[str] = []
        self._known: dict[tuple[object, ...], str] = {}

    def bind(self, hint: str, text: str) -> str:
        """Write ``name = text`` and return the name: ``hint`` or, if that is taken, one like it."""
        name = self.names.fresh(hint if is_identifier(hint) else "value")
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
        return str(e.value) if isinstance(e, ix.Truth) else show(self._traced(e))

    def static(self, e: Expr) -> str:
        """An expression over bounds only. ``ValueError`` if it names a dimension."""
        if self._varies(e):
            raise ValueError(f"{show(e)} is not known when a kernel is traced")
        return show(self._spelled(e))

    def pad(self, e: Expr) -> Expr:
        """The least known upper bound; an expression over bounds is its own."""
        return self._bound(e) if self._varies(e) else e

    def fits(self, size: Expr, extent: Expr) -> bool:
        """Whether a size over bounds is known to be at most an extent over bounds."""
        return size == extent or self._fits(size, extent)

    def _varies(self, e: Expr) -> bool:
        return any(s in self.dims for s in symbols(e))

    def _traced(self, e: Expr) -> Expr:
        """The expression with operations that Python lacks for arrays as calls of JAX.

        A subexpression that is emitted as text becomes a symbol with that text.
        """
        if not self._varies(e):
            return self._spelled(e)
        match e:
            case ix.IndexSum(terms=terms, const=k):
                return ix.IndexSum(tuple((c, self._traced(x)) for c, x in terms), k)
            case ix.IndexProduct(factors=fs):
                return ix.IndexProduct(tuple(self._traced(f) for f in fs))
            case ix.FloorDiv(arg=a, divisor=k):
                return ix.FloorDiv(self._traced(a), k)
            case ix.Mod(arg=a, divisor=k):
                return ix.Mod(self._traced(a), k)
            case ix.Relation(op=op, left=a, right=b):
                return ix.Relation(op, self._traced(a), self._traced(b))
            case ix.IndexMin(args=args) | ix.IndexMax(args=args):
                return self._extremum("minimum" if isinstance(e, ix.IndexMin) else "maximum", args)
            case ix.Conjunction(args=args) | ix.Disjunction(args=args):
                word = " & " if isinstance(e, ix.Conjunction) else " | "
                return ix.Sym(word.join(f"({self.index(a)})" for a in args))
            case ix.Negation(arg=a):
                return ix.Sym(f"~({self.index(a)})")
            case _:
                return self._spelled(e)

    def _spelled(self, e: Expr) -> Expr:
        """The expression with the variables for its dimensions and bounds."""
        other = {n: ix.Sym(v) for n in symbols(e) if (v := self._variable(n)) != n}
        return substitute(e, other) if other else e

    def _extremum(self, name: str, args: tuple[Expr, ...]) -> Expr:
        text = self.index(args[0])
        for a in args[1:]:
            text = f"jnp.{name}({text}, {self.index(a)})"
        return ix.Sym(text)

    # ------------------------------------------------------------ ragged arrays

    def valid(self, v: EmittedValue, axis: int) -> str:
        """A boolean mask of the valid positions, shaped to broadcast."""
        at = v.interval(axis)
        key = ("valid", v.padded[axis], at, v.type.ndim - axis)
        if key not in self._known:
            places = self.positions(v.padded[axis], at.begin)
            mask = f"{places} >= {self.index(at.start)}"
            if not v.is_last(axis):
                below = f"{places} < {self.index(at.stop)}"
                mask = below if at.start == at.begin else f"({mask}) & ({below})"
            spread = pads.along(f"({mask})", axis, v.type.ndim)
            text = mask if spread == f"({mask})" else spread
            self._known[key] = self.bind("valid", text)
        return self._known[key]

    def masked(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """The name of ``v`` with ``neutral`` at invalid positions of these axes."""
        if not any(v.is_ragged(k) for k in axes):
            return v.text
        text = self.masking(v, axes, neutral)
        key = (v.text, text)
        if key not in self._known:
            self._known[key] = self.bind(f"{v.text}_masked", text)
        return self._known[key]

    def masking(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """The text that ``masked`` binds."""
        mask = " & ".join(self.valid(v, k) for k in axes if v.is_ragged(k))
        alike = neutral.startswith(f"{jax_dtype(v.type.dtype)}(")
        return f"jnp.where({mask}, {v.text}, {bare(neutral) if alike else neutral})"

    def finite(self, v: EmittedValue) -> str:
        """The name of a boolean of Python; one for all arrays that are tested ``ahead``."""
        if not isinstance(v.finite, str):
            return ""
        self.ahead[v.finite] = None
        self.all_finite = self.all_finite or self.names.fresh("finite")
        return self.all_finite

    def align(self, v: EmittedValue, padded: tuple[Expr, ...]) -> EmittedValue:
        """``v`` with these padded extents: padding is cut, or extended by zeros."""
        if v.padded == padded:
            return v
        more = [ix.sub(want, have) for have, want in zip(v.padded, padded, strict=True)]
        v = self.first(v, [k for k in v.valid if more[k] == ix.ZERO or v.is_last(k)])
        key = (v.text, v.padded, padded, *v.valid)
        if key not in self._known:
            self._known[key] = self.bind(v.text, self._fitted(v, padded, more))
        valid = {
            k: replace(at, start=ix.add(at.start, more[k]), stop=ix.add(at.stop, more[k]))
            for k, at in v.valid.items()
        }
        return replace(v, text=self._known[key], padded=padded, valid=valid)

    def _fitted(self, v: EmittedValue, padded: tuple[Expr, ...], more: list[Expr]) -> str:
        """Cut where that is plain, else ``lax.pad``, which also cuts (by negative padding)."""
        less = [-m.value for m in more if isinstance(m, ix.Const) and m.value <= 0]
        if len(less) == len(more):
            ends = [
                f"{n}:" if k in v.valid else f":{self.static(padded[k])}"
                for k, n in enumerate(less)
            ]
            cuts = [end if n else ":" for n, end in zip(less, ends, strict=True)]
            while cuts[-1] == ":":
                cuts.pop()
            return f"{v.text}[{', '.join(cuts)}]"
        ends = [self.static(m) for m in more]
        config = ", ".join(
            f"({n}, 0, 0)" if k in v.valid else f"(0, {n}, 0)" for k, n in enumerate(ends)
        )
        comma = "," if len(more) == 1 else ""
        return f"lax.pad({v.text}, {scalar(0, v.type.dtype)}, ({config}{comma}))"

    def first(self, v: EmittedValue, but: Container[int] = ()) -> EmittedValue:
        """``v`` with valid elements first along all axes, but for some."""
        for axis in sorted(k for k in v.valid if k not in but):
            v = self.moved(v, axis, Interval(ix.ZERO, v.type.shape[axis]))
        return v

    def moved(self, v: EmittedValue, axis: int, to: Interval) -> EmittedValue:
        """``v`` with the valid elements of an axis at other positions, ``to``."""
        at = v.interval(axis)
        key = ("moved", v.text, v.padded, axis, at, to)
        if key not in self._known:
            places, first = self.positions(v.padded[axis], to.begin), ix.sub(at.start, at.begin)
            if to.start == ix.ZERO:
                places = f"{self.index(first)} + {places}"
            else:
                places = f"{places} - {pads.atom(self.index(ix.sub(to.start, first)))}"
            self._known[key] = self.bind(v.text, pads.take_text(v.text, places, axis))
        valid = {k: x for k, x in v.valid.items() if k != axis}
        if to.start != to.begin:
            valid[axis] = to
        return replace(v, text=self._known[key], finite=False, vanishing=(), valid=valid)

    def positions(self, size: Expr, begin: Expr = ix.ZERO) -> str:
        """The positions of an axis in a whole array, of which it is the part from ``begin`` on."""
        steps = f"jnp.arange({self.static(size)}, dtype=jnp.int32)"
        if begin == ix.ZERO:
            return steps
        key = ("spots", size, begin)
        if key not in self._known:
            self._known[key] = self.bind("spots", f"{self.index(begin)} + {steps}")
        return self._known[key]

    # ------------------------------------------------------------ checks

    def check(self, condition: str, message: str, value: str = "") -> None:
        """Emit a run-time check; see the class.

        Its value is an ``i32``: 0, or a positive number that encodes the wrong value. What was
        checked before, as a position at which several arrays are read, is not checked again.
        """
        if self.needed != ix.TRUE:
            condition = f"({condition}) | ({self.index(ix.negation(self.needed))})"
        key = ("check", condition, value)
        if key in self._known:
            return
        self._known[key] = condition
        text = f"wrong_value({value}, {condition})"
        if not value:
            text = f"jnp.where({condition}, 0, jnp.int32(1))"
        self._wrong.append(self.bind("wrong", text))
        self.checks.append(message)

    def failure(self) -> str:
        """The text of the first check that failed, with the wrong value; see ``FIRST_WRONG``."""
        return f"first_wrong({', '.join(self._wrong)})" if len(self._wrong) != 1 else self._wrong[0]
