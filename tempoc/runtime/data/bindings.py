"""Binds the arguments of a run to the interface of the program, and reports all mistakes at once.

Nothing is cast, except params: to a wider type without loss, or to any with ``cast_params``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes.nodes import Program, ProgramInput, ProgramParam
from tempoc.runtime.data.bounds import BoundValues, Claim, affine_bound, resolve
from tempoc.runtime.data.dtypes import NUMPY, described, widens
from tempoc.runtime.data.source import TensorSource
from tempoc.runtime.messages import run as errors
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import spelled

PointIndex = tuple[int, ...]
SEEDS = range(2**63)
"""What ``--seed`` may be."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Bindings(NamedTuple):
    """The checked arguments of a run. Params that the program computes are absent.

    ``params[name]`` has a source for each point of the dimensions in the param's template.
    """

    bounds: Mapping[str, int]
    inputs: Mapping[str, TensorSource]
    params: Mapping[str, Mapping[PointIndex, TensorSource]]
    seed: int = 0


class Given(NamedTuple):
    """The arguments of a run; ``params_origin`` is the file of the params, for messages.

    Inputs named in ``extra`` come from files of several tensors: those that the program does not
    have are ignored.
    """

    bounds: Mapping[str, object]
    inputs: Mapping[str, TensorSource]
    params: Mapping[str, TensorSource]
    params_origin: str = ""
    extra: frozenset[str] = frozenset()
    cast_params: bool = False
    seed: int = 0


def is_seed(seed: object) -> bool:
    """Whether it is a whole number in the range of seeds."""
    return isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed in SEEDS


def template_dims(param: ProgramParam) -> tuple[str, ...]:
    """The dimensions that the param's template mentions, in domain order."""
    mentioned = _PLACEHOLDER.findall(param.template)
    return tuple(d for d in param.dims if d in mentioned)


def leading_dims(param: ProgramParam) -> tuple[str, ...]:
    """The other dimensions: leading axes of each tensor in the file."""
    keyed = template_dims(param)
    return tuple(d for d in param.dims if d not in keyed)


def tensor_name(param: ProgramParam, point: PointIndex) -> str:
    """The name in the file of the param's tensor at a point of its template's dimensions."""
    where = dict(zip(template_dims(param), point, strict=True))
    return _PLACEHOLDER.sub(lambda m: str(where.get(m[1], m[0])), param.template)


def points(param: ProgramParam, program: Program, bounds: Mapping[str, int]) -> list[PointIndex]:
    """All points of the template's dimensions; only the first where a bound is unknown."""
    dims = dict(program.dims)
    ranges = [range(bounds.get(dims[d], 1)) for d in template_dims(param)]
    return list(itertools.product(*ranges))


def left_to_defaults(program: Program, given: Given) -> list[str]:
    """The names of tensors with a default that the files given for params do not hold."""
    first = {p: tensor_name(p, (0,) * len(template_dims(p))) for p in program.params}
    absent = [p.template for p, n in first.items() if p.has_default and n not in given.params]
    return absent if given.params else []


def beyond_params(program: Program, given: Given) -> list[str]:
    """The names of given tensors with which params would go on, such as those of more layers.

    Looked for where bounds with values in the program end, dimension by dimension.
    """
    sizes = {b.name: b.value.value for b in program.bounds if isinstance(b.value, ix.Const)}
    ends = {d: sizes.get(bound, -1) for d, bound in program.dims}
    dims = ((p, template_dims(p), d) for p in program.params for d in template_dims(p))
    names = (tensor_name(p, tuple(ends[d] * (d == last) for d in own)) for p, own, last in dims)
    return [n for n in names if n in given.params]


def bind(program: Program, given: Given) -> Bindings:
    """Check everything. Raises ``RunError`` with all problems found."""
    return _Binder(program, given).bind()


class _Binder:
    def __init__(self, program: Program, given: Given) -> None:
        self.program = program
        self.given = given
        self.dims = dict(program.dims)
        self.derived = {b.name: b.value for b in program.bounds if b.value is not None}
        self.resolved = BoundValues()
        self.inferable: dict[str, None] = {}

    def bind(self) -> Bindings:
        claims = [claim for item in self.sized() for claim in self.claims(*item)]
        self.resolved = resolve(self.program, self.given.bounds, claims, self.hints())
        inputs = {i.name: s for i in self.program.inputs if (s := self.input(i)) is not None}
        names = [i.name for i in self.program.inputs]
        for name in [n for n in self.given.inputs if n not in (*names, *self.given.extra)]:
            self.resolved.errors.add(errors.unknown_input(name, names))
        params = {p.name: t for p in self.program.params if (t := self.param(p)) is not None}
        if not is_seed(self.given.seed):
            self.resolved.errors.add(errors.bad_seed(self.given.seed))
        # A bound that follows from an input that is missing anyway is not reported as well.
        hints = self.hints()
        follow = [errors.missing_bound(b, hints[b]) for b in self.inferable]
        if problems := [p for p in self.resolved.problems if p not in follow]:
            raise RunError(*problems)
        return Bindings(self.resolved.values, inputs, params, self.given.seed)

    # -------------------------------------------------------------- sizes

    def sizes(self, dims: tuple[str, ...], shape: tuple[ix.Expr, ...]) -> tuple[ix.Expr, ...]:
        """The extents of a given array: one for each dimension, then the spatial ones."""
        return (*(ix.Sym(self.dims[d]) for d in dims), *shape)

    def sized(self) -> Iterator[tuple[str, tuple[ix.Expr, ...], TensorSource]]:
        """The given arrays with their extents, from which bounds can be inferred."""
        for i in self.program.inputs:
            if i.name in self.given.inputs:
                yield i.name, self.sizes(i.dims, i.shape), self.given.inputs[i.name]
        for p in self.program.params:
            name = tensor_name(p, (0,) * len(template_dims(p)))
            if name in self.given.params:
                yield name, self.sizes(leading_dims(p), p.shape), self.given.params[name]

    def claims(
        self, name: str, sizes: tuple[ix.Expr, ...], source: TensorSource
    ) -> Iterator[Claim]:
        if len(sizes) == len(source.shape):
            for axis, (e, size) in enumerate(zip(sizes, source.shape, strict=True)):
                line = affine_bound(e, self.derived)
                if line is not None and (size - line.start) % line.slope == 0:
                    value = (size - line.start) // line.slope
                    yield Claim(line.name, value, f"axis {axis} of {name}")

    def hints(self) -> dict[str, list[str]]:
        """For each bound, the axes from which it could be inferred."""
        axes: dict[str, list[str]] = {}
        items = [(i.name, self.sizes(i.dims, i.shape)) for i in self.program.inputs]
        items += [(p.name, self.sizes(leading_dims(p), p.shape)) for p in self.program.params]
        for name, sizes in items:
            for axis, e in enumerate(sizes):
                line = affine_bound(e, self.derived)
                if line is not None:
                    axes.setdefault(line.name, []).append(f"axis {axis} of {name}")
        return axes

    # -------------------------------------------------------------- arrays

    def input(self, i: ProgramInput) -> TensorSource | None:
        source = self.given.inputs.get(i.name)
        sizes = self.sizes(i.dims, i.shape)
        if source is None or len(source.shape) != len(sizes):
            lines = [affine_bound(e, self.derived) for e in sizes]
            self.inferable |= {line.name: None for line in lines if line is not None}
        if source is None:
            dims = f"[{', '.join(i.dims)}]" if i.dims else ""
            shape = f"[{', '.join(map(spelled, i.shape))}]" if i.shape else ""
            offered = [n for n in self.given.inputs if n in self.given.extra]
            title = f"{i.name}{dims}"
            problem = errors.missing_input(i.name, title, i.dtype + shape, offered)
            self.resolved.errors.add(problem)
            return None
        subject = f"the input {i.name}"
        if source.dtype.newbyteorder("=") != NUMPY[i.dtype]:
            self.wrong_dtype(subject, i.dtype, source, False)
        self.shape(subject, sizes, source)
        return source

    def param(self, p: ProgramParam) -> dict[PointIndex, TensorSource] | None:
        values, given = self.resolved.values, self.given.params
        names = {point: tensor_name(p, point) for point in points(p, self.program, values)}
        sources = {point: given[n] for point, n in names.items() if n in given}
        if not sources and p.has_default:
            return None
        missing = [n for point, n in names.items() if point not in sources]
        if missing:
            offered = [n for n in given if n not in names.values()]
            origin = self.given.params_origin
            self.resolved.errors.add(errors.missing_param(p.name, missing, offered, origin))
        # One complaint is enough for tensors that are wrong in the same way.
        problem_count = len(self.resolved.problems)
        for point, source in sources.items():
            self.param_tensor(p, names[point], source)
            if len(self.resolved.problems) > problem_count:
                break
        return sources

    def param_tensor(self, p: ProgramParam, name: str, source: TensorSource) -> None:
        subject = f"the param {name}"
        expected, actual = NUMPY[p.dtype], source.dtype.newbyteorder("=")
        castable = actual.kind != "c"
        cast = self.given.cast_params and castable
        if actual != expected and not cast and not widens(actual, expected):
            self.wrong_dtype(subject, p.dtype, source, castable)
        self.shape(subject, self.sizes(leading_dims(p), p.shape), source)

    def wrong_dtype(self, subject: str, dtype: str, source: TensorSource, castable: bool) -> None:
        texts = described(source.dtype), described(NUMPY[dtype])
        self.resolved.errors.add(errors.wrong_dtype(subject, *texts, source.origin, castable))

    def shape(self, subject: str, sizes: tuple[ix.Expr, ...], source: TensorSource) -> None:
        """Rank, then each axis whose extent is known and not itself in dispute."""
        if len(sizes) != len(source.shape):
            expected = [self.extent(e) for e in sizes]
            problem = errors.wrong_rank(subject, source.shape, expected, source.origin)
            self.resolved.errors.add(problem)
            return
        for axis, (e, size) in enumerate(zip(sizes, source.shape, strict=True)):
            value = self.resolved.value(e)
            if value is not None and value != size:
                at = axis, size, self.extent(e), source.shape, source.origin
                self.resolved.errors.add(errors.wrong_size(subject, *at))

    def extent(self, e: ix.Expr) -> str:
        """``23``, ``T = 4`` or ``T``."""
        value = self.resolved.value(e)
        return spelled(e) if value is None or isinstance(e, ix.Const) else f"{spelled(e)} = {value}"
