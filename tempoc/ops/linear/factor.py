"""What a square matrix alone determines: its Cholesky factor, its determinant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping

from tempoc.base.arrays import np
from tempoc.ops.definition.axis_links import Link, Same, untouched_links
from tempoc.ops.definition.dtype_text import cast
from tempoc.ops.definition.operator import Array, EmittedValues, Emitter, Op, ShapeFacts
from tempoc.ops.definition.promotion import inexact, kind_of
from tempoc.ops.definition.shapes import require
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.linear.square import each_matrix, require_square, whole_matrix, wide
from tempoc.symbolic import expr as ix


class OfMatrix(Op):
    """A function of each matrix of a stack ``[..., n, n]``."""

    __slots__ = ()
    heavy = True
    library = "cuSOLVER"

    @abstractmethod
    def shape(self, a: TensorType) -> tuple[ix.Expr, ...]:
        """The shape of the result."""

    @abstractmethod
    def of_one(self, a: Array) -> Array:
        """The result for one matrix, by LAPACK."""

    @abstractmethod
    def failed(self, n: int) -> Array:
        """What stands for the result where LAPACK gives up."""

    @abstractmethod
    def call(self, a: str) -> str:
        """The result in emitted code."""

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Floating point."""
        require(args, 1, self.name)
        require_square(args[0], self.name, facts)
        dtype, weak = inexact(kind_of(args[0]))
        return (TensorType(dtype, self.shape(args[0]), weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element of a matrix and each column; factors of less than 2 are left out."""
        return ix.product((*args[0].shape, args[0].shape[-1]))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """By LAPACK."""
        a = wide(args[0])
        with np.errstate(all="ignore"):
            return (each_matrix(a, self.of_one, self.failed(a.shape[-1])),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The batch."""
        return untouched_links(args[0].ndim, (args[0].ndim - 2, args[0].ndim - 1))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """By LAPACK, or what the device has in its place."""
        dtype = results[0].dtype
        call = self.call(whole_matrix(args[0], dtype, out).text)
        return (cast(call, dtype.wide, dtype),)


class FactorByEquations(OfMatrix):
    """A factor that equations make, element by element; the prelude has a function of its name."""

    __slots__ = ()

    def shape(self, a: TensorType) -> tuple[ix.Expr, ...]:
        """That of the operand."""
        return a.shape

    def failed(self, n: int) -> Array:
        """Never needed, as NumPy divides by zero and has NaN as a root."""
        return np.full((n, n), np.nan)

    def call(self, a: str) -> str:
        """Of the prelude."""
        return f"{self.name}({a})"


class Cholesky(OfMatrix):
    """The lower triangular ``l`` with a positive diagonal for which ``l @ l.T`` is ``a``.

    As in JAX: of a matrix that is not symmetric the symmetric part is taken, ``(a + a.T) / 2``, and
    one that is not positive definite has a factor of NaN, with zeros above the diagonal.
    """

    __slots__ = ()
    name = "cholesky"

    def shape(self, a: TensorType) -> tuple[ix.Expr, ...]:
        """That of the operand."""
        return a.shape

    def of_one(self, a: Array) -> Array:
        """Of the symmetric part."""
        return np.asarray(np.linalg.cholesky((a + a.T) / 2))

    def failed(self, n: int) -> Array:
        """A triangle of NaN."""
        return np.tril(np.full((n, n), np.nan))

    def call(self, a: str) -> str:
        """As in JAX."""
        return f"jnp.linalg.cholesky({a})"


class Det(OfMatrix):
    """The determinant."""

    __slots__ = ()
    name = "det"

    def shape(self, a: TensorType) -> tuple[ix.Expr, ...]:
        """The batch."""
        return a.shape[:-2]

    def of_one(self, a: Array) -> Array:
        """By a factorization with pivots."""
        return np.asarray(np.linalg.det(a))

    def failed(self, n: int) -> Array:
        """NaN."""
        return np.array(np.nan)

    def call(self, a: str) -> str:
        """As in NumPy."""
        return f"jnp.linalg.det({a})"


class LogDet(Det):
    """The logarithm of the absolute value of the determinant; ``-inf`` if that is 0."""

    __slots__ = ()
    name = "logdet"

    def of_one(self, a: Array) -> Array:
        """The second result of NumPy's ``slogdet``."""
        return np.asarray(np.linalg.slogdet(a)[1])

    def call(self, a: str) -> str:
        """As in NumPy."""
        return f"jnp.linalg.slogdet({a})[1]"
