"""Python functions of the user: their signatures, what they give for which operands.

The function itself is not loaded here. The evaluator of a graph imports and calls it; a kernel
calls it by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    ImportedFunction,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import require, same_shape, type_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse_list
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import substitute


def signature_text(type_: TensorType) -> str:
    """A type as it stands in a signature, ``f32[n, 2]``; ``signature_type`` reads it."""
    extents = ", ".join(show(e) for e in type_.shape)
    return f"{type_.dtype.value}[{extents}]" if extents else type_.dtype.value


def signature_type(text: str) -> TensorType:
    """The type that a text stands for. ``ValueError`` if it is none."""
    name, _, extents = text.partition("[")
    return TensorType(DType(name), parse_list(extents.removesuffix("]")))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternCall(Op):
    """A call of ``module.function``, which the program calls ``extern``.

    ``arguments`` and ``results`` are types as texts (``signature_text``); ``free`` are the names in
    them that stand for any extent: an operand gives them their value, where they stand alone.
    ``takes`` and ``gives`` name them (``x``); leaves of records have paths (``net.w``).
    """

    extern: str
    module: str
    function: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    free: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()

    @property
    def declared(self) -> ImportedFunction:
        """The function as it is declared."""
        return ImportedFunction(
            module=self.module,
            function=self.function,
            extern=self.extern,
            arguments=self.arguments,
            results=self.results,
            free=self.free,
            takes=self.takes,
            gives=self.gives,
        )

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The results of the signature, with the extents that the operands give."""
        require(args, len(self.arguments), self.extern)
        extents: dict[str, ix.Expr] = {}
        for text, have in zip(self.arguments, args, strict=True):
            expected = signature_type(text)
            for name, extent in zip(expected.shape, have.shape, strict=False):
                if isinstance(name, ix.Sym) and name.name in self.free:
                    extents.setdefault(name.name, extent)
            expected = at_extents(expected, extents)
            fits = have.dtype is expected.dtype and same_shape(have.shape, expected.shape, facts)
            if not fits:
                raise OperandError(f"{self.extern} takes {text}, not {type_text(have)}")
        return tuple(at_extents(signature_type(text), extents) for text in self.results)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Never called: the evaluator of the graph calls the function."""
        raise TypeError(f"{self.extern} is not known to the compiler")


class ExternJax(ExternCall):
    """A pure function of JAX arrays; kernels call it."""

    __slots__ = ()
    name = "extern_jax"
    heavy = True

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A call; several results come as a tuple."""
        name = out.imported(self.declared)
        call = f"{name}({', '.join(pads.with_own_padding(a, out).text for a in args)})"
        if len(results) == 1:
            return (call,)
        values = out.bind(f"{self.extern}_results", call)
        return tuple(f"{values}[{k}]" for k in range(len(results)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternHost(ExternCall):
    """Any Python: called by the runner, once for each point, whatever the consumers of the results.

    ``turn`` is the place in the source among all calls of host functions and effects. ``default``
    names the param whose default it is: no call where the param is given.
    """

    turn: int = 0
    default: str = ""

    name = "extern_host"
    differentiable = pure = False

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Never called: kernels before and after the call carry operands and results."""
        raise TypeError(f"{self.extern} is not called by a kernel")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternVjp(ExternJax):
    """The cotangents of float operands, from all operands and the cotangents of float results.

    Operands and results are those of the function, or, for a derivative of higher ``order``, those
    of the derivative of the order before.
    """

    order: int = 1

    name = "extern_vjp"

    def counts(self) -> list[int]:
        """The number of operands of the function, then of its derivatives of lower order."""
        floats = sum(signature_type(t).dtype.is_float for t in self.arguments)
        results = sum(signature_type(t).dtype.is_float for t in self.results)
        counts = [len(self.arguments)]
        for _ in range(1, self.order):
            counts.append(counts[-1] + results)
            floats, results = floats + results, floats
        return counts

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The types of the float operands."""
        counts = self.counts()
        results = ExternCall.infer(self, args[: counts[0]], facts)
        for count, end in zip(counts, (*counts[1:], len(args)), strict=True):
            expected = [t for t in results if t.dtype.is_float]
            given = args[count:end]
            require(given, len(expected), self.extern)
            for have, want in zip(given, expected, strict=True):
                if have.dtype is not want.dtype or not same_shape(have.shape, want.shape, facts):
                    raise OperandError(f"the cotangent {type_text(have)} is not {type_text(want)}")
            float_args = (a for a in args[:count] if a.dtype.is_float)
            results = tuple(TensorType(a.dtype, a.shape) for a in float_args)
        return results

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """``jax.vjp`` of the call, or of such a ``jax.vjp``, as a function of float operands."""
        texts = [pads.with_own_padding(a, out).text for a in args]
        floats = [a.type.dtype.is_float for a in args]
        name = out.imported(self.declared)
        values = out.bind(f"{self.extern}_back", self.back(name, texts, floats, self.counts()))
        return tuple(f"{values}[{k}]" for k in range(len(results)))

    def back(self, name: str, texts: list[str], floats: list[bool], counts: list[int]) -> str:
        """The text of a tuple of cotangents; names of an inner function hide those around it."""
        count = counts[-1]
        moving = [k for k in range(count) if floats[k]]
        inner = [f"_{k}" if floats[k] else texts[k] for k in range(count)]
        given = ", ".join(texts[count:])
        if len(counts) > 1:
            call = self.back(name, inner, floats, counts[:-1])
            given = f"({given},)"
        else:
            call, given = self.called(name, inner, given)
        function = f"lambda {', '.join(f'_{k}' for k in moving)}: {call}"
        return f"jax.vjp({function}, {', '.join(texts[k] for k in moving)})[1]({given})"

    def called(self, name: str, texts: list[str], cotangents: str) -> tuple[str, str]:
        """The call itself, for float results alone, and the argument that goes with these."""
        call = f"{name}({', '.join(texts)})"
        floats = [k for k, t in enumerate(self.results) if signature_type(t).dtype.is_float]
        if len(floats) < len(self.results):
            call = f"[r for k, r in enumerate({call}) if k in {tuple(floats)}]"
            return call, f"[{cotangents}]"
        return call, f"({cotangents})" if len(self.results) > 1 else cotangents


def at_extents(type_: TensorType, known: Mapping[str, ix.Expr]) -> TensorType:
    """A type of a signature with the values of its free names."""
    return TensorType(type_.dtype, tuple(substitute(e, known) for e in type_.shape))
