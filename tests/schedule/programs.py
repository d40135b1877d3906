"""Small programs as statements, written by hand in a few words."""

from __future__ import annotations

import re

from tempoc.ops.definition.types import TensorType
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.statements import Read, Statement, Statements, Tensor, Write
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe
from tempoc.symbolic.expr import TRUE, Expr, Sym
from tempoc.symbolic.parse import parse, parse_expr

ACCESS = re.compile(r"([^\[]+)(?:\[(.*)\])?$")


def domain(text: str) -> Domain:
    """`t l | l >= 1`"""
    dims, _, where = text.partition("|")
    return Domain(tuple(dims.split()), parse_expr(where) if where.strip() else TRUE)


def entries(text: str | None) -> tuple:
    """The entries between the brackets; `;` separates where `min(a, b)` stands inside."""
    return tuple(parse(e) for e in re.split(r";|,(?![^(]*\))", text)) if text else ()


class Builder:
    """`Builder("t<T l<L=30")`, then `tensor` and `statement`."""

    def __init__(self, dims: str, *assumptions: str) -> None:
        bounds: dict[str, Bound] = {}
        made = []
        for item in dims.split():
            name, bound, value = re.match(r"(\w+)<(\w+)(?:=(.+))?$", item).groups()
            bounds.setdefault(bound, Bound(name=bound, value=parse_expr(value) if value else None))
            made.append(Dim(name=name, bound=bound))
        self.universe = Universe(
            bounds=tuple(bounds.values()),
            dims=tuple(made),
            assumptions=tuple(parse_expr(a) for a in assumptions),
        )
        self.space = Space(self.universe)
        self.tensors: dict[str, Tensor] = {}
        self.list: list[Statement] = []

    def tensor(self, name: str, where: str) -> None:
        """A tensor; a statement declares those that it alone writes by itself."""
        self.tensors[name] = Tensor(
            name=name, node=name, out=0, domain=domain(where), type=TensorType("f32", ())
        )

    def statement(self, name: str, where: str, *reads: str, writes: tuple[str, ...] = ()) -> None:
        """Reads `x[t-1]`, `~x[t]` forwarded; writes `h[t+1] | t+1 < T`, by default itself."""
        own = domain(where)
        if not writes:
            self.tensors.setdefault(
                name, Tensor(name=name, node=name, out=0, domain=own, type=TensorType("f32", ()))
            )
        identity: tuple[Expr, ...] = tuple(Sym(d) for d in own.dims)
        made = [self._write(w, name) for w in writes] or [
            Write(tensor=name, member=name, out=0, entries=identity)
        ]
        self.list.append(
            Statement(
                name=name,
                domain=own,
                members=(name,),
                reads=tuple(self._read(r, name, k) for k, r in enumerate(reads)),
                writes=tuple(made),
            )
        )

    def _read(self, text: str, name: str, slot: int) -> Read:
        tensor, at = ACCESS.match(text.lstrip("~")).groups()
        forwarded = text.startswith("~")
        return Read(tensor=tensor, member=name, slot=slot, entries=entries(at), forwarded=forwarded)

    def _write(self, text: str, name: str) -> Write:
        access, _, where = text.partition("|")
        tensor, at = ACCESS.match(access.strip()).groups()
        condition = parse_expr(where) if where.strip() else TRUE
        return Write(tensor=tensor, member=name, out=0, entries=entries(at), where=condition)

    @property
    def statements(self) -> Statements:
        """The whole program."""
        return Statements(tensors=self.tensors, statements=tuple(self.list))


def rnn() -> Builder:
    b = Builder("t<T")
    b.tensor("h", "t")
    b.statement("h.0", "", writes=("h[0]",))
    b.statement("x", "t")
    b.statement("h.1", "t", "h[t]", "x[t]", writes=("h[t+1] | t+1 < T",))
    b.statement("y", "t", "h[t]")
    return b


def fibonacci() -> Builder:
    b = Builder("t<T")
    b.tensor("f", "t")
    b.statement("f.0", "", writes=("f[0]",))
    b.statement("f.1", "|T >= 2", writes=("f[1]",))
    b.statement("f.2", "t | t >= 2", "f[t-1]", "f[t-2]", writes=("f[t]",))
    return b


def attention() -> Builder:
    b = Builder("t<T")
    for name in "qkv":
        b.statement(name, "t")
    b.statement("s", "t", "q[t]", "k[0:t+1]")
    b.statement("a", "t", "s[t]", "v[0:t+1]")
    return b


def heat() -> Builder:
    b = Builder("t<T i<I j<J")
    b.tensor("u", "t i j")
    b.statement("u.0", "i j", writes=("u[0, i, j]",))
    inner = "i >= 1 and i < I-1 and j >= 1 and j < J-1"
    reads = ("u[t-1,i,j]", "u[t-1,i-1,j]", "u[t-1,i+1,j]", "u[t-1,i,j-1]", "u[t-1,i,j+1]")
    b.statement("u.1", f"t i j | t >= 1 and {inner}", *reads, writes=("u[t, i, j]",))
    b.statement("u.2", f"t i j | t >= 1 and not ({inner})", "u[t-1,i,j]", writes=("u[t, i, j]",))
    return b


def edit() -> Builder:
    b = Builder("i<M j<N")
    b.tensor("d", "i j")
    b.statement("d.0", "i", writes=("d[i, 0]",))
    b.statement("d.1", "j | j >= 1", writes=("d[0, j]",))
    b.statement(
        "d.2", "i j | i >= 1 and j >= 1", "d[i-1,j]", "d[i,j-1]", "d[i-1,j-1]", writes=("d[i,j]",)
    )
    return b


def returns() -> Builder:
    b = Builder("t<T")
    b.statement("r", "t")
    b.tensor("g", "t")
    b.statement("g.0", "", "r[T-1]", writes=("g[T-1]",))
    b.statement("g.1", "t | t < T-1", "r[t]", "g[t+1]", writes=("g[t]",))
    b.statement("loss", "", "g[0:T]")
    return b


def nstep(n: int = 8) -> Builder:
    b = Builder("t<T")
    b.tensor("o", "t")
    b.statement("o.0", "", writes=("o[0]",))
    b.statement("act", "t", "o[t]")
    b.statement("step", "t", "act[t]", writes=("o[t+1] | t+1 < T", "r[t]"))
    b.tensor("r", "t")
    b.statement("g", "t", f"r[t:min(t+{n}, T)]")
    b.statement("gw", "t", "g[t]", "act[t]")
    b.tensor("acc", "t")
    b.statement("acc.0", "", "gw[0]", writes=("acc[0]",))
    b.statement("acc.1", "t | t >= 1", "acc[t-1]", "gw[t]", writes=("acc[t]",))
    b.statement("w", "", "acc[T-1]")
    return b


def decode(layers: int = 30, feedback: bool = True) -> Builder:
    b = Builder(f"t<T l<L={layers}")
    b.tensor("W", "l")
    if feedback:
        b.tensor("tok", "t")
        b.statement("tok.0", "", writes=("tok[0]",))
    else:
        b.tensor("tok", "t")
    b.statement("emb", "t", "tok[t]")
    b.tensor("x", "t l")
    b.statement("x.0", "t", "emb[t]", writes=("x[t, 0]",))
    b.statement("qkv", "t l", "x[t,l]", "W[l]")
    b.statement("att", "t l", "qkv[t,l]", "qkv[0:t+1,l]")
    b.statement("y", "t l", "att[t,l]", "x[t,l]", "W[l]", writes=("y[t,l]", "x[t,l+1] | l+1 < L"))
    b.tensor("y", "t l")
    writes = ("logit[t]", "tok[t+1] | t+1 < T") if feedback else ("logit[t]",)
    b.tensor("logit", "t")
    b.statement("out", "t", "y[t,L-1]", writes=writes)
    return b


def skew() -> Builder:
    b = Builder("i<I t<T")
    b.tensor("x", "i t")
    b.statement("x.0", "t", writes=("x[0, t]",))
    b.statement("x.1", "i | i >= 1", "x[i-1, 0]", writes=("x[i, 0]",))
    b.statement(
        "x.2",
        "i t | i >= 1 and t >= 1",
        "x[i, t-1]",
        "x[i-1, t]",
        writes=("x[i, t]",),
    )
    b.statement("y", "i t", "x[i, t]", "x[i, 0:T]")
    return b


def sums() -> Builder:
    b = Builder("i<I t<T")
    b.statement("x", "i t")
    b.tensor("s", "i t")
    b.statement("s.0.mul", "i", "x[i, 0]")
    b.statement("s.0", "i", "s.0.mul[i]", writes=("s[i, 0]",))
    b.statement("s.1", "i t | t >= 1", "s[i, t-1]", "x[i, t]", writes=("s[i, t]",))
    b.statement("m", "i", "s[i, T-1]")
    return b


def smooth() -> Builder:
    b = Builder("t<T")
    b.tensor("x", "t")
    b.statement("y", "t", "x[max(0, t-3):t+1]")
    b.statement("z", "t", "y[t:min(t+4, T)]")
    return b


def wavefront() -> Builder:
    """No dimension alone is an order; `3*i + 2*t` is."""
    b = Builder("i<I t<T")
    b.statement("x", "i t", "x[i+1, t-2]", "x[i-1, t+1]")
    return b


def updates() -> Builder:
    """Four updates for each iteration: the dimensions of the two are tied by their bounds only."""
    b = Builder("i<I e<E=2*I k<K=4*I t<T")
    b.tensor("w", "k")
    b.statement("w.0", "", writes=("w[0]",))
    b.tensor("s", "i t")
    b.statement("s.0", "", writes=("s[0, 0]",))
    b.statement("act", "i t", "s[i, t]", "w[4*i]", writes=("act[i, t]", "s[i, t+1] | t+1 < T"))
    b.tensor("act", "i t")
    b.statement("carry", "i | i+1 < I", "act[i, T-1]", writes=("s[i+1, 0]",))
    b.statement("order", "e")
    b.statement("batch", "i", "act[i, 0:T]")
    b.statement("learn", "k", "w[k]", "batch[k//4]", "order[k//2]", writes=("w[k+1] | k+1 < K",))
    b.statement("told", "i", "act[i, 0:T]")
    return b


def pooled() -> Builder:
    """Two steps of one loop make one of the other, whose last may have only one."""
    b = Builder("n<N=(T+1)//2 t<T")
    b.tensor("h", "t")
    b.statement("h.0", "", writes=("h[0]",))
    b.statement("h.1", "t", "h[t]", "y[t//2]", writes=("h[t+1] | t+1 < T",))
    b.tensor("y", "n")
    b.statement("y.0", "", "h[0]", writes=("y[0]",))
    b.statement("y.1", "n", "h[2*n:min(2*n+2, T)]", writes=("y[n+1] | n+1 < N",))
    return b


def prompt() -> Builder:
    """The first S steps of all layers at once, then step by step; layers read the last W steps."""
    b = Builder("t<T l<L w<W s<S", "S <= T")
    b.statement("k.early", "l", "x.early[l]")
    b.tensor("x.early", "l")
    b.statement("y.early", "l", "k.early[l]", writes=("x.early[l+1] | l+1 < L",))
    b.tensor("k", "t l")
    b.statement("k.last", "t l | t >= S-W and t < S", "k.early[l]", writes=("k[t, l]",))
    b.tensor("x", "t l")
    b.statement("x.0", "t | t >= S", "x[t-1, L-1]", writes=("x[t, 0]",))
    b.statement("k.late", "t l | t >= S", "x[t, l]", writes=("k[t, l]",))
    b.statement("y", "t l | t >= S", "k[max(0, t-W):t+1, l]", writes=("x[t, l+1] | l+1 < L",))
    return b


PROGRAMS = {
    "prompt": prompt,
    "updates": updates,
    "pooled": pooled,
    "smooth": smooth,
    "wavefront": wavefront,
    "sums": sums,
    "rnn": rnn,
    "fibonacci": fibonacci,
    "attention": attention,
    "heat": heat,
    "edit": edit,
    "returns": returns,
    "nstep": nstep,
    "decode": decode,
    "prefill": lambda: decode(feedback=False),
    "skew": skew,
}
