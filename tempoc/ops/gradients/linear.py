"""Derivatives of linear algebra and of Fourier transforms.

Formulas: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), sections 2.2 and 2.3.
"""

from __future__ import annotations

from tempoc.ops.definition.types import DType
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms
from tempoc.ops.gradients.factors import transposed, triangle
from tempoc.ops.linear.factor import Det, LogDet
from tempoc.ops.linear.fourier import Fft, Ifft, Irfft, Rfft
from tempoc.ops.linear.long_convolution import LongConvolution
from tempoc.ops.linear.solve import LinearSystem, Solve, TriangularSolve
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.movement import ExpandDims, Flip, Pad, Squeeze
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Arange, Eye, IndexValue
from tempoc.symbolic import expr as ix

RULES = Rules()


@RULES.of(Solve, TriangularSolve)
def solve(op: LinearSystem, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """``b' = a^-T x'`` and ``a' = -b' x^T``, of a triangular matrix the triangle."""
    a, b = args
    x, g = results[0], cots[0]
    is_vector = b.type.ndim == 1
    if is_vector:
        x, g = (c.expand(v, [v.type.ndim]) for v in (x, g))
    opposite: LinearSystem = Solve()
    if isinstance(op, TriangularSolve):
        opposite = TriangularSolve(lower=not op.lower, unit=op.unit)
    right = c.op(opposite, transposed(c, a), g)
    matrix = c.neg(c.op(MatMul(), right, transposed(c, x)))
    if isinstance(op, TriangularSolve):
        matrix = triangle(c, matrix, lower=op.lower, strict=op.unit)
    if is_vector:
        right = c.op(Squeeze(axes=(-1,)), right)
    return c.fit(matrix, a), c.fit(right, b)


@RULES.of(Det, LogDet)
def determinant(op: Det, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The transposed inverse, times the determinant unless it is the logarithm's."""
    (a,) = args
    g = cots[0] if isinstance(op, LogDet) else c.mul(cots[0], results[0])
    n = a.shape[-1]
    inverse = c.op(Solve(), transposed(c, a), c.op(Eye(n=n, m=n, dtype=g.type.dtype)))
    last = g.type.ndim
    return (c.fit(c.mul(c.expand(g, [last, last + 1]), inverse), a),)


# ---------------------------------------------------------------- Fourier transforms


@RULES.of(Fft, Ifft)
def fft(op: Fft, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The matrix is symmetric, and its conjugate the inverse but for a factor."""
    (x,), (g,) = args, cots
    n = c.index(x.shape[-2], g.type.dtype)
    if isinstance(op, Ifft):
        return (c.fit(c.div(c.op(Fft(), g), n), x),)
    return (c.fit(c.mul(c.op(Ifft(), g), n), x),)


@RULES.of(Rfft)
def rfft(op: Rfft, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Back by ``irfft``, which counts all numbers twice but the first and the last."""
    (x,), (g,) = args, cots
    n = x.shape[-1]
    shared = c.div(g, _multiplicity(c, n, g))
    return (c.fit(c.mul(c.op(Irfft(n=n), shared), c.index(n, g.type.dtype)), x),)


@RULES.of(Irfft)
def irfft(op: Irfft, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Forward by ``rfft``, all numbers twice but the first and the last."""
    (z,), (g,) = args, cots
    forward = c.op(Rfft(), g)
    scaled = c.div(c.mul(forward, _multiplicity(c, op.n, forward)), c.index(op.n, g.type.dtype))
    return (c.fit(scaled, z),)


@RULES.of(LongConvolution)
def long_convolution(
    op: LongConvolution, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """Of each operand the correlation with the other one."""
    (a, b), (g,) = args, cots
    first, second, result = op.terms
    if op.step > 1:  # zeros for the numbers in between
        apart = c.op(ExpandDims(axis=1), g)
        around = (ix.ZERO, ix.ZERO)
        widths = (around, (ix.ZERO, ix.Const(op.step - 1)), *[around] * (g.type.ndim - 1))
        shape = (ix.mul(ix.Const(op.step), g.shape[0]), *g.shape[1:])
        g = c.op(Reshape(shape=shape), c.op(Pad(widths=widths), apart))

    def correlation(x: Term, y: Term, spec: str, flipped: bool) -> Term:
        start = ix.sub(ix.sub(x.shape[0], ix.ONE), op.start)
        return c.op(
            LongConvolution(spec=spec, start=start, count=y.shape[0], flipped=flipped), x, g
        )

    slope = correlation(b, a, f"{second},{result}->{first}", flipped=True)
    return (
        c.fit(c.op(Flip(axes=(0,)), slope) if op.flipped else slope, a),
        c.fit(correlation(a, b, f"{first},{result}->{second}", flipped=not op.flipped), b),
    )


def _multiplicity(c: Calculus, n: ix.Expr, z: Term) -> Term:
    """How often ``irfft`` counts each complex number, ready to broadcast."""
    places = c.op(Arange(stop=z.shape[-2]))
    double = c.op(binary.Multiply(), places, c.number(2, DType.I32))
    alone = c.op(binary.Remainder(), double, c.op(IndexValue(expr=n)))
    one, two = (c.number(k, z.type.dtype) for k in (1.0, 2.0))
    zero = c.op(binary.Equal(), alone, c.number(0, DType.I32))
    return c.expand(c.where(zero, one, two), [1])
