"""Products of tensors, summed over shared axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.base.cost_model import MODEL
from tempoc.base.python_text import literal
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same, broadcast_axes
from tempoc.ops.definition.dtype_text import jax_dtype
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.product_padding import clean, contracted
from tempoc.ops.definition.promotion import common, promote, widened
from tempoc.ops.definition.shapes import broadcast, counted, require, same, shape_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.tensor.monoids import SUM
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show


def require_numbers(args: tuple[TensorType, ...], name: str) -> None:
    """``OperandError`` for operands that have no product."""
    for a in args:
        if a.dtype in (DType.BOOL, DType.KEY):
            help = "convert with f32(x) or i32(x)" if a.dtype is DType.BOOL else None
            raise OperandError(f"{name} takes numbers, not {a.dtype.value}", help=help)


def summable(args: tuple[Array, ...]) -> tuple[tuple[Array, ...], np.dtype[np.generic]]:
    """The arrays in the dtype in which products are summed, and the dtype of the result."""
    arrays = common(args)
    return tuple(widened(a) for a in arrays), arrays[0].dtype


def _clash(a: tuple[ix.Expr, ...], b: tuple[ix.Expr, ...], why: str) -> str:
    return f"shapes {shape_text(a)} and {shape_text(b)} do not contract: {why}"


def _transposed(a: Sequence[ix.Expr], b: Sequence[ix.Expr], facts: ShapeFacts) -> str | None:
    """Help for a product that fits once one of its matrices is transposed."""
    if len(a) == 2 and same(a[0], b[0] if len(b) == 1 else b[-2], facts):
        return "it fits with the first one transposed: `a.T @ b`"
    if len(b) == 2 and same(a[-1], b[1], facts):
        return "it fits with the second one transposed: `a @ b.T`"
    return None


class MatMul(Op):
    """``a @ b`` as in NumPy: vectors, matrices, stacks of matrices whose batch axes broadcast."""

    __slots__ = ()
    name, symbol = "matmul", "@"
    layout_agnostic = sums_padding = True
    heavy = contraction = multilinear = overflows = True
    monoid = SUM

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Batch axes broadcast, the inner extents must agree."""
        require(args, 2, self.name)
        require_numbers(args, "@")
        a, b = (x.shape for x in args)
        if not a or not b:
            raise OperandError(_clash(a, b, "a scalar has no axis"), "multiply by a scalar with *")
        inner = b[0] if len(b) == 1 else b[-2]
        if not same(a[-1], inner, facts):
            clash = _clash(a, b, f"{show(a[-1])} is not {show(inner)}")
            raise OperandError(clash, _transposed(a, b, facts), rewrites=True)
        batch = broadcast([a[:-2], b[:-2]], facts)
        rows = a[-2:-1]
        columns = b[-1:] if len(b) > 1 else ()
        dtype, weak = promote(args)
        return (TensorType(dtype, (*batch, *rows, *columns), weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """Two for each term of each element."""
        return ix.product((ix.Const(2), args[0].shape[-1], *results[0].shape))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy; halves are summed in single precision."""
        (a, b), dtype = summable(args)
        with np.errstate(all="ignore"):
            return (np.asarray(np.matmul(a, b)).astype(dtype, copy=False),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """Rows of the left, columns of the right, the batch of both; the inner axis is summed."""
        left, right = (a.shape for a in args)
        batch = results[0].shape[: max(len(left), len(right), 2) - 2]
        for axis in range(len(batch)):
            places = broadcast_axes([left[:-2], right[:-2]], batch, axis, same)
            if places is not None:
                yield Link(places, (axis,))
        rows = len(left) > 1
        if rows:
            yield Link((len(left) - 2, None), (len(batch),))
        if len(right) > 1:
            yield Link((None, len(right) - 1), (len(batch) + rows,))
        inner = 0 if len(right) == 1 else len(right) - 2
        if same(left[-1], right[inner]) and left[-1] != ix.ONE:
            yield Link((len(left) - 1, inner), (None,))

    def at_position(self, link: Link, args: Types) -> MatMul | None:
        """A row of the left or a column of the right is a vector."""
        (left, right), (a, b) = (x.ndim for x in args), link.operands
        if b is None and a == left - 2:
            return self if left == 2 or right <= 2 else None
        if a is None and b == right - 1:
            return self if right == 2 else None
        depth = max(n - k for n, k in ((left, a), (right, b)) if k is not None)
        whole = all(k is not None or n < depth for n, k in ((left, a), (right, b)))
        return self if whole else None

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Both operands aligned along the inner axis and the batch, masked, then multiplied.

        A matrix times a vector is written as suits the number of points that do that.
        """
        (result,) = results
        a, b = args
        inner = _common_padding([a.padded[-1], b.padded[max(b.type.ndim - 2, 0)]])
        inner = inner or out.pad(a.type.shape[-1])
        shape = pads.padded(result.shape, out)
        batch = shape[: max(a.type.ndim, b.type.ndim) - 2]
        a = out.align(a, (*_batch(a, batch), *(out.pad(e) for e in a.type.shape[-2:-1]), inner))
        columns = tuple(out.pad(e) for e in b.type.shape[-1:]) if b.type.ndim > 1 else ()
        b = out.align(b, (*_batch(b, batch), inner, *columns))
        a, b = (pads.converted(v, result.dtype, out) for v in (a, b))
        inner_axes = (a.type.ndim - 1,), (0 if b.type.ndim == 1 else b.type.ndim - 2,)
        dtype, rank = result.dtype, result.ndim
        is_vector = (a.type.ndim, b.type.ndim) == (2, 1)

        def times(x: str, y: str) -> str:
            return _matrix_vector(x, y, out) if is_vector else f"jnp.matmul({x}, {y})"

        if a.finite is True and b.finite is True:
            return (times(a.text, b.text),)
        if _unmasked(a) > _unmasked(b):
            y = clean(b, inner_axes[1], None, dtype, out).text
            others = {inner_axes[0][0]: [(y, inner_axes[1][0])]}
            return (
                contracted(a, inner_axes[0], b, dtype, out, lambda x: times(x, y), others, rank),
            )
        x = clean(a, inner_axes[0], None, dtype, out).text
        others = {inner_axes[1][0]: [(x, inner_axes[0][0])]}
        return (contracted(b, inner_axes[1], a, dtype, out, lambda y: times(x, y), others, rank),)


def _unmasked(v: EmittedValue) -> int:
    """A sort key: operands that bring the zeros for padding that may be finite come before it."""
    return 2 if isinstance(v.finite, str) else int(v.finite)


def _common_padding(sizes: Sequence[ix.Expr]) -> ix.Expr | None:
    """The padded extent of an axis if all operands that have it agree."""
    return sizes[0] if len({*sizes}) == 1 else None


MATVEC = '''\
def matvec(matrix, vector, points):
    """matrix @ vector, which so many points compute together.

    Vectors of many points are rows of an array, which one product takes and gives as they lie. For
    few of them XLA for CPUs is faster if the matrix comes first. It may abort where a matrix with
    an axis of up to three elements is that of some of the points only.
    """
    if points == 1:
        return jnp.matmul(matrix, vector)
    if jax.default_backend() == "cpu" and points <= 16 and min(matrix.shape) > 3:
        return lax.optimization_barrier(jnp.matmul(matrix, vector))
    return jnp.matmul(vector, matrix.T)
'''


def _matrix_vector(matrix: str, vector: str, out: Emitter) -> str:
    """A matrix times a vector, at all points for which this is written."""
    if out.points == ix.ONE:
        return f"jnp.matmul({matrix}, {vector})"
    return f"matvec({matrix}, {vector}, {out.static(out.points)})"


def _batch(v: EmittedValue, batch: tuple[ix.Expr, ...]) -> tuple[ix.Expr, ...]:
    count = max(v.type.ndim - 2, 0)
    target = batch[len(batch) - count :]
    have = zip(v.type.shape[:count], v.padded[:count], target, strict=True)
    return tuple(size if ix.ONE in (extent, size) else want for extent, size, want in have)


@dataclass(frozen=True, slots=True, kw_only=True)
class Einsum(Op):
    """``einsum(spec, ...)`` as in NumPy: letters for axes, ``...`` for the rest, ``->`` or not."""

    spec: str

    name = "einsum"
    layout_agnostic = sums_padding = True
    heavy = contraction = multilinear = overflows = True
    monoid = SUM

    def letters(self, ranks: tuple[int, ...]) -> tuple[list[str], str]:
        """The axes of the operands and of the result, one letter each. Raises ``OperandError``."""
        left, arrow, right = self.spec.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(ranks):
            count = counted(len(terms), "operand", "operands")
            raise OperandError(f'einsum "{self.spec}" has {count}, not {len(ranks)}')
        spare = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in self.spec]
        extra = [n - len(t.replace("...", "")) for t, n in zip(terms, ranks, strict=True)]
        for term, n in zip(terms, extra, strict=True):
            if n < 0 or (n > 0 and "..." not in term):
                rank = len(term.replace("...", ""))
                count = counted(rank, "axis", "axes")
                raise OperandError(f'"{term}" in einsum names {count}, not {rank + n}')
        ellipsis = "".join(spare[: max(extra, default=0)])
        parts = zip(terms, extra, strict=True)
        operands = [t.replace("...", ellipsis[len(ellipsis) - n :]) for t, n in parts]
        if arrow:
            result = right.replace("...", ellipsis)
        else:
            every = "".join(operands)
            result = ellipsis + "".join(
                sorted(c for c in {*every} if every.count(c) == 1 and c not in ellipsis)
            )
        self.check(operands, result)
        return operands, result

    def check(self, operands: list[str], result: str) -> None:
        """``OperandError`` unless the letters make sense."""
        for c in "".join([*operands, result]):
            if not (c.isascii() and c.isalpha()):
                raise OperandError(f'"{c}" in einsum "{self.spec}" is not a letter')
        for c in result:
            if c not in "".join(operands):
                raise OperandError(f'the result of einsum "{self.spec}" names {c}, no operand does')
            if result.count(c) > 1:
                raise OperandError(f'the result of einsum "{self.spec}" names {c} twice')

    def extents(
        self, terms: list[str], args: tuple[TensorType, ...], facts: ShapeFacts
    ) -> dict[str, ix.Expr]:
        """The extent of each letter. Raises ``OperandError`` where two differ."""
        extents: dict[str, ix.Expr] = {}
        for term, a in zip(terms, args, strict=True):
            for letter, extent in zip(term, a.shape, strict=True):
                previous = extents.setdefault(letter, extent)
                if previous == ix.ONE:
                    extents[letter] = extent
                elif extent != ix.ONE and not same(previous, extent, facts):
                    shapes = " and ".join(shape_text(x.shape) for x in args)
                    raise OperandError(
                        f'shapes {shapes} do not contract by "{self.spec}": '
                        f"{letter} is {show(previous)} and {show(extent)}"
                    )
        return extents

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """An extent for each letter of the result."""
        require_numbers(args, self.name)
        terms, result = self.letters(tuple(a.ndim for a in args))
        extents = self.extents(terms, args, facts)
        dtype, weak = promote(args)
        return (TensorType(dtype, tuple(extents[c] for c in result), weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """For each combination of letters a multiplication by each further operand, and a sum."""
        terms, result = self.letters(tuple(a.ndim for a in args))
        pairs = (p for t, a in zip(terms, args, strict=True) for p in zip(t, a.shape, strict=True))
        extents = {c: e for c, e in pairs if e != ix.ONE}
        sums = int(any(c not in result for c in extents))
        return ix.product((ix.Const(len(args) - 1 + sums), *extents.values()))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy; halves are summed in single precision."""
        arrays, dtype = summable(args)
        terms, result = self.letters(tuple(a.ndim for a in arrays))
        spec = f"{','.join(terms)}->{result}"
        with np.errstate(all="ignore"):
            y = np.asarray(np.einsum(spec, *arrays, optimize=len(arrays) > 2))
        return (y.astype(dtype, copy=False),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """A link for each letter that stands once in an operand and means one extent."""
        terms, result = self.letters(tuple(a.ndim for a in args))
        for letter in dict.fromkeys("".join(terms)):
            places = tuple(t.index(letter) if letter in t else None for t in terms)
            extents = [a.shape[p] for a, p in zip(args, places, strict=True) if p is not None]
            plain = all(same(e, extents[0]) and e != ix.ONE for e in extents)
            if plain and not any(t.count(letter) > 1 for t in terms):
                yield Link(places, (result.index(letter) if letter in result else None,))

    def at_position(self, link: Link, args: Types) -> Einsum:
        """Without the letter of the axis."""
        terms, result = self.letters(tuple(a.ndim for a in args))
        places = zip(terms, link.operands, strict=True)
        letter = next(t[k] for t, k in places if k is not None)
        spec = f"{','.join(terms)}->{result}"
        return Einsum(spec=spec.replace(letter, ""))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Letters get one padded extent each; those that are summed are masked."""
        dtype = results[0].dtype
        terms, result = self.letters(tuple(a.type.ndim for a in args))
        sizes: dict[str, ix.Expr] = {}
        for term, v in zip(terms, args, strict=True):
            for letter, extent in zip(term, v.type.shape, strict=True):
                if sizes.get(letter, ix.ONE) == ix.ONE:
                    sizes[letter] = out.pad(extent)
        sizes |= _summed_sizes(terms, result, args)
        turn = _turned(terms, result) if out.points == ix.ONE else (*range(len(args)),)
        spec = f"{','.join(terms[k] for k in turn)}->{result}"
        precise = "" if dtype.is_float else f", preferred_element_type={jax_dtype(dtype)}"
        masked: set[str] = set()
        texts = [""] * len(args)
        order = sorted(range(len(args)), key=lambda k: _unmasked(args[k]))
        columns = _columns(terms, result, args) if dtype.is_float else ()

        def fitted(k: int) -> EmittedValue:
            extents = zip(terms[k], args[k].type.shape, strict=True)
            goal = tuple(ix.ONE if e == ix.ONE else sizes[letter] for letter, e in extents)
            return pads.converted(out.align(args[k], goal), dtype, out)

        def spell(last: str) -> str:
            given = [last if k == order[-1] else text for k, text in enumerate(texts)]
            if columns:
                summed = _summed(terms, result)
                more = "" if all(len(t) == summed + 1 for t in terms) else f", {summed}"
                return f"transposed_matmul({', '.join(given[c] for c in columns)}{more})"
            return f"jnp.einsum({literal(spec)}, {', '.join(given[k] for k in turn)}{precise})"

        if columns and out.points == ix.ONE:
            x, y = (fitted(c) for c in columns)
            if (valid := _valid_rows(x, y, out)) is not None:
                return (f"valid_rows_product({valid}, {x.text}, {y.text})",)
        for k in order:
            term, v = terms[k], fitted(k)
            summed = tuple(a for a, c in enumerate(term) if c not in result and v.is_ragged(a))
            other = v if summed and all(term[a] in masked for a in summed) else None
            if k == order[-1]:
                named = [*zip([t or v.text for t in texts], terms, strict=True)]
                axes = {a: [(x, p) for x, t in named for p in _places(t, term[a])] for a in summed}
                return (contracted(v, summed, other, dtype, out, spell, axes, len(result)),)
            texts[k] = clean(v, summed, other, dtype, out).text
            masked |= {term[a] for a in summed}
        raise AssertionError("no operands")


def _places(term: str, letter: str) -> list[int | None]:
    """The axes of an operand that have a letter; ``None`` if none has it."""
    return [a for a, c in enumerate(term) if c == letter] or [None]


def _turned(terms: list[str], result: str) -> tuple[int, ...]:
    """The order in which operands are written: of an array of several axes and a vector, such that
    XLA for CPUs reads the array as it lies.

    A copy of it would take ten times as long as the product. None is made if the axes that are
    summed come last and the array is the first operand of the product, or come first and it is the
    second; `jnp.einsum` exchanges its two operands unless axes come out as they are wanted.
    """
    order = (*range(len(terms)),)
    if len(terms) != 2 or any(len({*term}) < len(term) for term in terms):
        return order
    vector, array = sorted(order, key=lambda k: len(terms[k]))
    summed = terms[vector]
    free = "".join(c for c in terms[array] if c not in summed)
    if len(free) < 2 or {*free} != {*result} or not summed or not {*summed} <= {*terms[array]}:
        return order
    at_end = {*terms[array][-len(summed) :]} == {*summed}
    return (array, vector) if at_end == (free == result) else (vector, array)


TRANSPOSED_MATMUL = f'''\
def transposed_matmul(x, y, summed=None):
    """x.T @ y: the outer products of rows, summed over the first axes, or over all but the last.

    XLA for CPUs is faster with many rows if narrow ones are laid out as columns first, and if the
    axes of a row are one. So are rows of a multiple of {MODEL.column_stride} elements while they
    fit into a cache, of which few lines take the elements of a column.
    """
    several = summed is not None
    first = tuple(range(summed if several else x.ndim - 1))
    rows, columns = x.shape[len(first) :], y.shape[len(first) :]
    a, b = (lax.collapse(lax.collapse(v, len(first)), 0, len(first)) for v in (x, y))
    width = min(a.shape[1], b.shape[1])
    strided = width % {MODEL.column_stride} == 0
    fits = strided and len(a) * width * x.dtype.itemsize <= {MODEL.column_bytes}
    narrow = several or width <= {MODEL.column_rows} or fits
    if jax.default_backend() != "cpu" or len(a) < 128 or not narrow:
        return jnp.tensordot(x, y, (first, first)) if several else jnp.matmul(a.T, b)
    if a.shape[1] <= b.shape[1]:
        product = jnp.matmul(lax.optimization_barrier(a.T), b)
    else:
        product = lax.optimization_barrier(jnp.matmul(lax.optimization_barrier(b.T), a)).T
    return product.reshape(*rows, *columns)
'''


VALID_ROWS_PRODUCT = f'''\
def valid_rows_product(valid, x, y):
    """The same of those rows that are valid.

    XLA for CPUs writes masked copies of both arrays. That is left where all rows are valid, as in
    all tiles but the last one, unless an array is large: then there is no room for copies beside.
    """
    masked = lambda: transposed_matmul(jnp.where(valid, x, 0), jnp.where(valid, y, 0))
    most = max(x.size, y.size) * x.dtype.itemsize
    if jax.default_backend() != "cpu" or not {MODEL.masked_bytes} <= most <= {MODEL.copied_tile}:
        return masked()
    return lax.cond(jnp.all(valid), lambda: transposed_matmul(x, y), masked)
'''


def _valid_rows(x: EmittedValue, y: EmittedValue, out: Emitter) -> str | None:
    """The mask of the rows of both operands, all axes but the last; ``None`` if they need none."""
    if x.finite is True or y.finite is True:
        return None
    ragged = [[k for k in range(v.type.ndim - 1) if v.is_ragged(k)] for v in (x, y)]
    if not ragged[0] or ragged[0] != ragged[1]:
        return None
    masks = [" & ".join(out.valid(v, k) for k in ragged[0]) for v in (x, y)]
    return masks[0] if masks[0] == masks[1] else None


def _columns(terms: list[str], result: str, args: EmittedValues) -> tuple[int, ...]:
    """The operands whose columns are the rows and the columns of a result that is summed over all
    axes that both have, the first ones, if there are two of that kind."""
    if len(terms) != 2 or any(len({*term}) < len(term) for term in terms):
        return ()
    summed = _summed(terms, result)
    first, second = (term[summed:] for term in terms)
    single, also_single = ([extent == ix.ONE for extent in v.type.shape[:summed]] for v in args)
    if not summed or not first or not second or {*first} & {*second} or single != also_single:
        return ()
    if summed == 1 and len(first + second) > 2:
        return ()  # XLA takes the axes of a row as they lie, which need not be side by side.
    return (0, 1) if result == first + second else (1, 0) if result == second + first else ()


def _summed_sizes(terms: list[str], result: str, args: EmittedValues) -> dict[str, ix.Expr]:
    """The padded extents that all operands have of letters that are summed."""
    sizes: dict[str, list[ix.Expr]] = {}
    for term, v in zip(terms, args, strict=True):
        for letter, size, extent in zip(term, v.padded, v.type.shape, strict=True):
            if letter not in result and extent != ix.ONE:
                sizes.setdefault(letter, []).append(size)
    common = {letter: _common_padding(padded) for letter, padded in sizes.items()}
    return {letter: size for letter, size in common.items() if size is not None}


def _summed(terms: list[str], result: str) -> int:
    """How many first axes of two operands are the same, and summed."""
    pairs = enumerate(zip(*terms, strict=False))
    unequal = (k for k, (a, b) in pairs if a != b or a in result)
    return next(unequal, min(map(len, terms)))
