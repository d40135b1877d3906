"""Derivatives of products of tensors, which are such products again."""

from __future__ import annotations

from string import ascii_letters

from tempoc.ops.definition.types import DType
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms
from tempoc.ops.tensor.arithmetic import Add, Equal, Multiply, Subtract
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.convolution import Conv, ConvTranspose
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Arange, Eye, IndexValue
from tempoc.symbolic import expr as ix

RULES = Rules()


@RULES.of(MatMul)
def matmul(op: MatMul, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Each operand: the cotangent with the other one transposed."""
    a, b = args
    rows = ["i"] if a.type.ndim > 1 else []
    columns = ["j"] if b.type.ndim > 1 else []
    batch = [x for x in ascii_letters if x not in "ijk"]
    lead = max(a.type.ndim, b.type.ndim) - 2
    letters = batch[: max(lead, 0)]
    first = [*letters[len(letters) - max(a.type.ndim - 2, 0) :], *rows, "k"]
    tail = letters[len(letters) - max(b.type.ndim - 2, 0) :]
    second = [*tail, "k", *columns]
    result = [*letters, *rows, *columns]
    terms = ["".join(first), "".join(second)]
    return products(c, terms, "".join(result), args, cots[0])


@RULES.of(Einsum)
def einsum(op: Einsum, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Each operand: the cotangent with all others. A letter twice in a term is a diagonal."""
    terms, result = op.letters(tuple(a.type.ndim for a in args))
    spare = iter([x for x in ascii_letters if x not in "".join([*terms, result])])
    operands = list(args)
    for k, term in enumerate(tuple(terms)):
        letters = ""
        for place, letter in enumerate(term):
            if letter in letters:
                other = next(spare)
                n = args[k].shape[place]
                operands.append(c.op(Eye(n=n, m=n, dtype=args[k].type.dtype)))
                terms.append(letter + other)
                letter = other
            letters += letter
        terms[k] = letters
    return products(c, terms, result, tuple(operands), cots[0])[: len(args)]


def products(c: Calculus, terms: list[str], result: str, args: Terms, g: Term) -> Derivatives:
    """The cotangents of the operands of a sum of products."""
    cotangents: list[Term | None] = []
    for k, x in enumerate(args):
        others = [(t, a) for m, (t, a) in enumerate(zip(terms, args, strict=True)) if m != k]
        spec, operands = [result, *(t for t, _ in others)], [g, *(a for _, a in others)]
        known = "".join(spec)
        reached = "".join(letter for letter in terms[k] if letter in known)
        if not x.type.dtype.is_float:
            cotangents.append(None)
            continue
        part = _product(c, spec, reached, operands)
        missing = [m for m, letter in enumerate(terms[k]) if letter not in known]
        cotangents.append(c.fit(c.expand(part, missing), x))
    return tuple(cotangents)


def _product(c: Calculus, spec: list[str], result: str, operands: list[Term]) -> Term:
    if spec == [result]:
        return operands[0]
    if len(spec) == 2 and not spec[0] and result == spec[1]:
        return c.mul(operands[0], operands[1])
    return c.op(Einsum(spec=f"{','.join(spec)}->{result}"), *operands)


@RULES.of(Conv, ConvTranspose)
def conv(op: Conv, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """As a product with a tensor that says which places meet, one for each spatial axis."""
    x, w = args
    groups = ix.Const(op.feature_group_count)
    spatial = w.type.ndim - 2
    lead = x.type.ndim - 1 - spatial
    names = iter(ascii_letters)
    batch = "".join(next(names) for _ in range(lead))
    own, kernel, windows = ("".join(next(names) for _ in range(spatial)) for _ in range(3))
    channel, filters = (next(names) for _ in range(2))
    group = next(names) if groups != ix.ONE else ""
    terms = [batch + own + group + channel, kernel + channel + group + filters]
    operands = [_split_last(c, v, groups) for v in (x, w)]
    for k in range(spatial):
        terms.append(own[k] + windows[k] + kernel[k])
        operands.append(_meeting(op, c, args, results[0], lead + k, k))
    result = batch + windows + group + filters
    parts = products(c, terms, result, tuple(operands), _split_last(c, cots[0], groups))[:2]
    if not group:
        return parts
    pairs = zip(parts, args, strict=True)
    return tuple(v and c.op(Reshape(shape=a.shape), v) for v, a in pairs)


def _split_last(c: Calculus, x: Term, groups: ix.Const) -> Term:
    """A tensor with its channels or filters in groups, if there are several."""
    if groups == ix.ONE:
        return x
    last = x.shape[-1]
    assert isinstance(last, ix.Const)
    last = ix.Const(last.value // groups.value)
    return c.op(Reshape(shape=(*x.shape[:-1], groups, last)), x)


def _meeting(op: Conv, c: Calculus, args: Terms, y: Term, axis: int, k: int) -> Term:
    """`[p, o, q]`: 1 where place `p` of the operand meets `q` of the kernel in window `o`."""
    n, size = args[0].shape[axis], args[1].shape[k]
    place = c.expand(c.op(Arange(stop=n)), [1, 2])
    window = c.expand(c.op(Arange(stop=y.shape[axis])), [0, 2])
    offset = c.expand(c.op(Arange(stop=size)), [0, 1])
    step, gap, reach = (c.number(k, DType.I32) for k in (op.step, op.gap, op.rhs_dilation))
    place, offset = c.op(Multiply(), place, gap), c.op(Multiply(), offset, reach)
    before = c.op(IndexValue(expr=op.around(n, size)[0]))
    met = c.op(Add(), c.op(Multiply(), window, step), c.op(Subtract(), offset, before))
    return c.cast(c.op(Equal(), place, met), y.type.dtype)
