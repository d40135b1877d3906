"""Einsum notation of ``MatMul`` and ``Einsum`` nodes, and the operator for a notation.

A ``Spelling`` has a term of letters for each operand and one for the result, as ``einsum`` takes
them. Letters that the result lacks are summed. Axes of extent 1 broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.sdg.graph.graph import Edge

_LETTERS = "ijklmnopqrstuvwxyzabcdefgh" + ascii_lowercase.upper()


@dataclass(frozen=True, slots=True)
class Spelling:
    """The letters of the axes of the operands, and of the result."""

    terms: tuple[str, ...]
    result: str

    def renamed(self) -> Spelling:
        """The same with letters ``i, j, k, ...`` in order of occurrence."""
        names: dict[str, str] = {}
        for letter in "".join((*self.terms, self.result)):
            names.setdefault(letter, _LETTERS[len(names)])

        def change(term: str) -> str:
            return "".join(names[c] for c in term)

        return Spelling(tuple(map(change, self.terms)), change(self.result))


def spelling(op: Op, ranks: Sequence[int]) -> Spelling:
    """The letters of a ``MatMul`` or an ``Einsum`` for operands of these ranks."""
    if isinstance(op, Einsum):
        terms, result = op.letters(tuple(ranks))
        return Spelling(tuple(terms), result)
    assert isinstance(op, MatMul)
    left, right = ranks
    batch = _LETTERS[3 : 3 + max(left, right, 2) - 2]
    first = batch[len(batch) - max(left - 2, 0) :] + ("ik" if left > 1 else "k")
    second = batch[len(batch) - max(right - 2, 0) :] + ("kj" if right > 1 else "k")
    rows = "i" if left > 1 else ""
    columns = "j" if right > 1 else ""
    return Spelling((first, second), batch + rows + columns)


_MATRICES: dict[tuple[str, ...], bool] = {
    ("i", "i", ""): False,
    ("ij", "j", "i"): False,
    ("i", "ij", "j"): False,
    ("ij", "jk", "ik"): False,
    ("i", "ji", "j"): True,
    ("ij", "i", "j"): True,
}
"""Spellings that are products of matrices and vectors, and whether operands change places."""


def _is_swapped(letters: Spelling) -> bool:
    """Whether the result has the second operand's own axes first, so that operands should swap."""
    if len(letters.terms) != 2:
        return False
    first, second = letters.terms
    own = [c in first for c in letters.result if (c in first) != (c in second)]
    return False in own and own == sorted(own)


def contraction(letters: Spelling, edges: Sequence[Edge]) -> tuple[Op, tuple[Edge, ...]]:
    """The operator for a spelling, and the operands in its order: a ``MatMul`` where one does."""
    if _is_swapped(letters):
        letters, edges = Spelling(letters.terms[::-1], letters.result), edges[::-1]
    plain = letters.renamed()
    swapped = _MATRICES.get((*plain.terms, plain.result))
    if swapped is not None:
        return MatMul(), tuple(edges[::-1] if swapped else edges)
    return Einsum(spec=f"{','.join(plain.terms)}->{plain.result}"), tuple(edges)
