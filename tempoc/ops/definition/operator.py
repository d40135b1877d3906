"""The base class of operators: a frozen dataclass with attributes as fields and rules as methods.

An operator has a shape and dtype rule (``infer``), a reference semantics (``evaluate``, NumPy, one
point) and a lowering (``emit``, JAX). Operands are tensors *after* the temporal access of the edge:
a slice in an edge has already added its leading spatial axis.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from tempoc.base.arrays import np
from tempoc.ops.definition.axis_links import AxisPart, Link, Same, broadcast_links
from tempoc.ops.definition.dtype_text import Scalar, scalar
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class ShapeFacts(Protocol):
    """Queries of shape rules; the front end implements them with isl, tests with normal forms."""

    def equal(self, a: ix.Expr, b: ix.Expr) -> bool:
        """Whether the two extents are provably equal at all points of the node's domain."""

    def holds(self, condition: ix.Expr) -> bool:
        """Whether the condition provably holds at all points of the node's domain."""


class OperandError(Exception):
    """Operands that do not fit the operator.

    ``message`` is one sentence without a full stop (``shapes [31, 47] and [53] do not contract: 47
    is not 53``); ``help`` an optional way out, which ``rewrites`` the operation itself where the
    operands are what is meant; ``empty`` the extent of an axis that may have no element. The caller
    adds spans and code.
    """

    def __init__(
        self,
        message: str,
        help: str | None = None,
        rewrites: bool = False,
        empty: ix.Expr | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.rewrites = rewrites
        self.empty = empty


@dataclass(frozen=True, slots=True)
class Interval:
    """The valid positions of an axis: ``start`` to before ``stop``; none if ``stop`` is less.

    Positions are those of a whole array, of which this axis is the part from ``begin`` on.
    """

    start: ix.Expr
    stop: ix.Expr
    begin: ix.Expr = ix.ZERO


@dataclass(frozen=True, slots=True)
class EmittedValue:
    """An operand or result in emitted code.

    ``text`` is the variable's name. ``type.shape`` holds the true extents; ``padded`` the static
    extents (over bounds only) of the array. An axis is *ragged* where the two differ: the positions
    outside of its valid ones are padding with undefined values, which ``emit`` must keep out of
    valid results. ``valid`` has the valid positions of axes; those without come first.
    ``finite``: the padding is zeros, so that zero times it is zero. The name of an array that all
    points of a kernel read, each its own part: zero times it is zero if all of it is finite.
    ``vanishing``: axes along which the padding adds nothing to a sum, as it is 0, or NaN where
    another element is. ``constant``: the number that all elements are, where it is known.
    ``stored``: the name of the array in memory that the value is, as long as ``text`` is that.
    """

    text: str
    type: TensorType
    padded: tuple[ix.Expr, ...]
    finite: bool | str = False
    valid: Mapping[int, Interval] = field(default_factory=dict)
    constant: Scalar | None = None
    stored: str = ""
    vanishing: tuple[int, ...] = ()

    def is_ragged(self, axis: int) -> bool:
        """Whether the axis has invalid positions."""
        return self.padded[axis] != self.type.shape[axis]

    def interval(self, axis: int) -> Interval:
        """The valid positions of an axis."""
        return self.valid.get(axis) or Interval(ix.ZERO, self.type.shape[axis])

    def is_last(self, axis: int) -> bool:
        """Whether the valid positions are known to be the last ones of the axis."""
        at = self.interval(axis)
        return at.stop == ix.add(at.begin, self.padded[axis])


EmittedValues = tuple[EmittedValue, ...]


class Emitter(Protocol):
    """The interface of the kernel emitter for operators (see ``emission/emitter.py``).

    ``mapped`` are the vectorized dimensions, over which ``jax.vmap`` maps the emitted code;
    ``points`` is the number of their points, over bounds; 1 if there are none.
    """

    mapped: tuple[str, ...]
    points: ix.Expr

    def bind(self, hint: str, text: str) -> str:
        """Write ``name = text`` and return the fresh name."""

    def index(self, e: ix.Expr) -> str:
        """Text of an index expression: a traced i32 scalar if it names dimensions, else static."""

    def static(self, e: ix.Expr) -> str:
        """Text of an expression over bounds only, a Python int when the kernel is traced."""

    def pad(self, e: ix.Expr) -> ix.Expr:
        """The least known upper bound of an extent over the kernel's domain, over bounds only."""

    def fits(self, size: ix.Expr, extent: ix.Expr) -> bool:
        """Whether a size over bounds is known to be at most an extent over bounds."""

    def valid(self, v: EmittedValue, axis: int) -> str:
        """Text of a boolean mask of the valid positions, shaped to broadcast against ``v``."""

    def masked(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """``v`` with ``neutral`` at invalid positions of these axes; ``v`` if none is ragged."""

    def masking(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """The text that ``masked`` would bind, for a single use."""

    def finite(self, v: EmittedValue) -> str:
        """The name of a boolean of Python: whether the array that ``v.finite`` names is finite.

        The function of a point is traced with either value; empty if there is no such array.
        """

    def align(self, v: EmittedValue, padded: tuple[ix.Expr, ...]) -> EmittedValue:
        """``v`` with its padding cut, or extended by zeros, to these padded extents."""

    def moved(self, v: EmittedValue, axis: int, to: Interval) -> EmittedValue:
        """``v`` with the valid elements of an axis at other positions, ``to``."""

    def first(self, v: EmittedValue, but: Container[int] = ()) -> EmittedValue:
        """``v`` with valid elements first along all axes, but for some."""

    def function(
        self, hint: str, parameters: tuple[str, ...], write: Callable[[tuple[str, ...]], str]
    ) -> str:
        """Write a function within the kernel and return its name.

        ``parameters`` are hints; ``write`` gets the names, writes the body, and returns the text of
        the result. Nothing in it may be checked.
        """

    def imported(self, function: ImportedFunction) -> str:
        """The name of a function of the user's that the kernels import."""

    def check(self, condition: str, message: str, value: str = "") -> None:
        """Make the run fail with ``message`` if the condition is false (``emission/emitter.py``).

        It is a boolean scalar; or, with the text of an integer ``value``, an array of its shape.
        The wrong value stands for ``{value}`` in the message.
        """


class ImportedFunction(NamedTuple):
    """A Python function of the user, as declared in the program.

    A function may have several declarations, with different names or types.
    """

    module: str
    function: str
    extern: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    free: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]


class _OpMeta(ABCMeta):
    """Makes ``isinstance`` on operators as fast as on plain classes: it runs at every node."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


@dataclass(frozen=True, slots=True, kw_only=True)
class Monoid:
    """An associative and commutative function of two elements, and its identity for a dtype.

    ``name`` is that of the reduction, ``numpy`` that of NumPy's function of two elements;
    ``combine`` the function as an operator and ``lax`` its name in emitted code, if there are such.
    ``exact``: results are one of the operands, never rounded.
    """

    name: str
    numpy: str
    identity: Callable[[DType], Scalar]
    combine: Op | None = None
    lax: str = ""
    exact: bool = False

    def neutral(self, dtype: DType) -> str:
        """The identity in emitted code."""
        return scalar(self.identity(dtype), dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Op(metaclass=_OpMeta):
    """An operator. Fields are attributes: numbers, strings, DTypes, Exprs and tuples of them."""

    name: ClassVar[str]
    symbol: ClassVar[str] = ""
    """The sign that stands for it in programs."""
    computed: ClassVar[bool] = True
    """A kernel computes it; otherwise its data are there, or are those of its operands."""
    pure: ClassVar[bool] = True
    """It has no effect on the outside, so that it may be computed at any time, more than once."""
    cheap: ClassVar[bool] = False
    """Computing it again is as cheap as reading it from memory."""
    light: ClassVar[bool] = False
    """Elementwise, and one operation for each element costs no more than to store the result."""
    transcendental: ClassVar[bool] = False
    """Elementwise, and many operations for each element: a series, or several."""
    heavy: ClassVar[bool] = False
    """It does more than one elementwise pass over its operands, or a move of them."""
    elementwise: ClassVar[bool] = False
    """Each element of the result depends on the operands' elements at its position only."""
    keeps_nan: ClassVar[bool] = False
    """Elementwise, and a floating-point result is NaN wherever an operand is, on all devices."""
    moves: ClassVar[bool] = False
    """Its elements are those of the operands, in positions that depend on shapes alone."""
    picks: ClassVar[bool] = False
    """It takes some elements of its first operand, wherever indices say."""
    extreme: ClassVar[bool] = False
    """It is the greatest or the least of numbers: its derivative first finds out which it is."""
    promotes: ClassVar[bool] = False
    """Its operands, except positions, are taken in the dtype that all of them promote to."""
    changes_part: ClassVar[bool] = False
    """Its result is its first operand but for a part, which has the shape of its last operand."""
    contraction: ClassVar[bool] = False
    """It sums products of the operands."""
    sums_padding: ClassVar[bool] = False
    """Emitted code takes any padding of axes that are summed, if all operands have the same."""
    multilinear: ClassVar[bool] = False
    """It is linear in each operand, the others being fixed, and computes more than a move."""
    commutative: ClassVar[bool] = False
    """Its operands can change places: the result is the same to the last bit."""
    layout_agnostic: ClassVar[bool] = False
    """Emitted code looks at positions of axes that have a link only through masks, as is true of
    all elementwise operators (``emission/ragged_layout.py``)."""
    overflows: ClassVar[bool] = False
    """Of integers it can make one that its dtype does not have, which then wraps around."""
    library: ClassVar[str] = ""
    """The library that XLA calls for it on an NVIDIA GPU, which a CUDA graph cannot hold; empty if
    kernels of XLA compute it."""
    differentiable: ClassVar[bool] = True
    """Derivatives flow to the operands; not through what is constant nearly everywhere."""
    in_double: ClassVar[Callable[..., float] | None] = None
    """The operator in double precision, if that rounded to ``f32`` is its result in ``f32``
    (Figueroa 1995: double rounding is innocuous)."""
    monoid: ClassVar[Monoid | None] = None
    """What combines the elements of reduced axes, and so the results of their parts."""

    @abstractmethod
    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The result types. Raises ``OperandError``."""

    def within(self, args: tuple[TensorType, ...]) -> tuple[ix.Expr, ...]:
        """The conditions under which the operator stays within its operands' axes.

        The front end proves them for every program; the verifier proves them again after each pass.
        """
        return ()

    def kept_inside(self, args: tuple[TensorType, ...]) -> Op:
        """The same operator, with points that are within its operands' axes wherever it can.

        Where `within` holds it computes the same.
        """
        return self

    @property
    def checks(self) -> bool:
        """Whether emitted code checks operands when the program runs."""
        return False

    @property
    def doubles(self) -> bool:
        """Whether it computes with 64 bits, whatever its operands and results are."""
        return False

    @abstractmethod
    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The reference semantics at one point; ``at`` has the values of dimensions and bounds."""

    def unlimited(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The results of an operator that overflows, as if its integers had no limits, as f64."""
        wide = (a.astype(np.float64) if np.issubdtype(a.dtype, np.integer) else a for a in args)
        return self.evaluate(tuple(wide), at)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """The scalar operations at one point, a formula of the extents.

        Elementwise operators, reductions and scans do one for each element, whatever the device
        makes of it; contractions a multiplication and an addition for each term. Moving values and
        making constants takes none; what functions of the user do is not known and counts nothing.
        """
        return ix.ZERO

    def meeting(self, types: tuple[TensorType, ...]) -> DType | None:
        """The dtype to which operands of these types are promoted; ``None`` if they are not."""
        return None

    def settle(self, args: tuple[Array, ...], types: tuple[TensorType, ...]) -> tuple[Array, ...]:
        """The operands converted for ``evaluate``; ``types`` are their types.

        NumPy has no weak types, so operands are promoted here.
        """
        return args

    def links(self, args: Types, results: Types, same: Same) -> Iterable[Link]:
        """The links of axes on operands of these types; none if the operator is opaque."""
        return broadcast_links(args, results, same) if self.elementwise else ()

    def narrowed(self, link: Link, part: AxisPart) -> Op:
        """The operator on a part of the link's axis, with its shape attributes adjusted."""
        return self

    def at_position(self, link: Link, args: Types) -> Op | None:
        """The operator at one position of the link's axis, which operands and results then lack.

        ``None`` where it is not known; it then takes an axis with one element (`narrowed`).
        """
        if not self.elementwise:
            return None
        # An operand with one element for all positions would keep its axis.
        depth = max(a.ndim - k for a, k in zip(args, link.operands, strict=True) if k is not None)
        repeated = [a for a, k in zip(args, link.operands, strict=True) if k is None]
        return None if any(a.ndim >= depth for a in repeated) else self

    @abstractmethod
    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """JAX expressions for the results, padded where a result's extents are ragged.

        The padded shape of a result axis is ``out.pad(extent)``. Only ``jnp``, ``lax`` and ``jax``
        may be named. dtypes are spelled out so that 64-bit mode changes nothing. Axes have their
        valid elements first unless the operator is among those that do not care
        (``emission/ragged_layout.py``).
        """
