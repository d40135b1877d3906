"""What an operator is: one frozen dataclass with its attributes as fields and its rules as methods.

An operator knows its shape and dtype rule (``infer``), its meaning (``evaluate``, NumPy, one point)
and its spelling (``emit``, JAX). Operands are tensors *after* the temporal access of the edge:
a slice in an edge has already added its leading spatial axis.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic.expr import Expr

Array = np.ndarray[Any, np.dtype[Any]]


class ShapeFacts(Protocol):
    """What shape rules may ask; the front end answers with isl, tests with normal forms."""

    def equal(self, a: Expr, b: Expr) -> bool:
        """Whether the two extents are provably equal at all points of the node's domain."""

    def holds(self, condition: Expr) -> bool:
        """Whether the condition provably holds at all points of the node's domain."""


class OperandError(Exception):
    """Operands that do not fit the operator.

    ``message`` is one sentence without a full stop (``shapes [31, 47] and [53] do not contract: 47
    is not 53``); ``help`` an optional way out. The caller adds spans and code.
    """

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where the valid elements of an axis are: from ``start`` on, before ``stop``.

    Positions are those of the array of which this is the part that begins at ``begin``.
    """

    axis: int
    start: Expr
    stop: Expr
    begin: Expr


@dataclass(frozen=True, slots=True)
class EmittedValue:
    """An operand or result in emitted code.

    ``text`` is the variable's name. ``type.shape`` holds the true extents; ``padded`` the static
    extents (over bounds only) that the array really has. An axis is *ragged* where the two differ:
    positions from the true extent on hold garbage, which ``emit`` must keep out of valid results.
    ``finite`` promises that this garbage has no NaN and no infinity, so that zero times it is zero.
    ``shared`` names the array that all points of a kernel read this from, each with an end of its
    own; empty if there is no such array. ``last`` has the axes that are the other way around: valid
    elements come last and garbage first, as in ``x[t:T]`` where ``x`` is read whole. ``amid`` has
    those that have garbage on both sides, as in ``x[t:t+5]`` where many points read one array.
    """

    text: str
    type: TensorType
    padded: tuple[Expr, ...]
    finite: bool = False
    shared: str = ""
    last: tuple[int, ...] = ()
    amid: tuple[Stretch, ...] = ()

    def is_ragged(self, axis: int) -> bool:
        """Whether the axis has invalid positions."""
        return self.padded[axis] != self.type.shape[axis]

    @property
    def displaced(self) -> tuple[int, ...]:
        """The axes of which valid elements do not come first."""
        return tuple(sorted((*self.last, *(s.axis for s in self.amid))))

    def stretch(self, axis: int) -> Stretch | None:
        """Where the valid elements of an axis are that has garbage on both sides."""
        return next((s for s in self.amid if s.axis == axis), None)


class Emitter(Protocol):
    """What an operator may ask of the kernel that is being written (see ``emission/emitter.py``).

    ``mapped``: at the points of these dimensions ``jax.vmap`` runs what is written, at ``points``
    in all, over bounds; 1 without it.
    """

    mapped: tuple[str, ...]
    points: Expr

    def bind(self, hint: str, text: str) -> str:
        """Write ``name = text`` and return the fresh name."""

    def index(self, e: Expr) -> str:
        """Text of an index expression: a traced i32 scalar if it names dimensions, else static."""

    def static(self, e: Expr) -> str:
        """Text of an expression over bounds only, a Python int when the kernel is traced."""

    def pad(self, e: Expr) -> Expr:
        """The least known upper bound of an extent over the kernel's domain, over bounds only."""

    def valid(self, v: EmittedValue, axis: int) -> str:
        """Text of a boolean mask of the valid positions, shaped to broadcast against ``v``."""

    def masked(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """``v`` with ``neutral`` at invalid positions of these axes; ``v`` if none is ragged."""

    def masking(self, v: EmittedValue, axes: tuple[int, ...], neutral: str) -> str:
        """The text of what ``masked`` names, where it is needed only once, or never."""

    def finite(self, v: EmittedValue) -> str:
        """Text of a boolean scalar: whether all that the points read ``v`` from is finite.

        It is found out once for all points; empty where each point must mask for itself.
        """

    def align(self, v: EmittedValue, padded: tuple[Expr, ...]) -> EmittedValue:
        """``v`` cut or lengthened (by zeros) to these padded extents, where its garbage is."""

    def first(self, v: EmittedValue, axes: tuple[int, ...]) -> EmittedValue:
        """``v`` with valid elements first along these axes."""

    def moved(self, v: EmittedValue, to: Stretch) -> EmittedValue:
        """``v``, whose valid elements come first along an axis, with them at such a stretch."""

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
    """A Python function of the user's as one of the program's declarations says it is.

    Two declarations of one function differ in name or types: each is checked by its own.
    """

    module: str
    function: str
    extern: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    free: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]


class _Kind(ABCMeta):
    """Operators are instances of their classes and of nothing else: asked for at every node."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


@dataclass(frozen=True, slots=True, kw_only=True)
class Op(metaclass=_Kind):
    """An operator. Fields are attributes: numbers, strings, DTypes, Exprs and tuples of them."""

    name: ClassVar[str]

    @abstractmethod
    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The result types. Raises ``OperandError``."""

    def within(self, args: tuple[TensorType, ...]) -> tuple[Expr, ...]:
        """What holds at all points where the operator stays inside its operands' axes.

        The front end proves this of every program; the verifier proves it again after each pass.
        """
        return ()

    @abstractmethod
    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The meaning at one point; ``at`` gives dimensions and bounds their values."""

    def meeting(self, types: tuple[TensorType, ...]) -> DType | None:
        """The dtype in which operands of these types meet, if they are converted to one."""
        return None

    def settle(self, args: tuple[Array, ...], types: tuple[TensorType, ...]) -> tuple[Array, ...]:
        """The operands as ``evaluate`` takes them; ``types`` are theirs.

        An array does not know whether it is weak: operands are converted here to what they meet in.
        """
        return args

    @abstractmethod
    def emit(
        self, args: tuple[EmittedValue, ...], results: tuple[TensorType, ...], out: Emitter
    ) -> tuple[str, ...]:
        """JAX expressions for the results, padded where a result's extents are ragged.

        The padded shape of a result axis is ``out.pad(extent)``. Only ``jnp``, ``lax`` and ``jax``
        may be named. dtypes are spelled out so that 64-bit mode changes nothing. Axes have their
        valid elements first unless the operator is among those that do not care
        (``emission/ragged_layout.py``).
        """
