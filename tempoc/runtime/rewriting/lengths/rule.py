"""What a rule is told of an operator with padded operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tempoc.runtime.rewriting.lengths.form import Form
from tempoc.runtime.rewriting.lengths.padding import Padding, require
from tempoc.runtime.rewriting.lengths.sizes import PaddedShape, VaryingSize, is_ragged

ComputedForm = Callable[[Form, Sequence[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class PaddedOperation:
    """An operator with its parameters, and the shapes of what it is given and makes.

    ``compute`` computes a function that is a parameter, for padded operands.
    """

    padding: Padding
    compute: ComputedForm
    primitive: Any
    how: Mapping[str, Any]
    given: tuple[PaddedShape, ...]
    made: tuple[PaddedShape, ...]

    @property
    def is_rewritten(self) -> bool:
        """Whether something about it depends on lengths, or has to be made anew."""
        ragged = any(map(is_ragged, (*self.given, *self.made)))
        return ragged or any(map(_is_special, self.how.values())) or "update_jaxpr" in self.how

    def bound(self, given: Sequence[Any], **changed: Any) -> list[Any]:
        """What the operator computes, with some parameters changed."""
        how = {**self.how, **changed}
        require(not any(map(_is_special, how.values())))
        made: Any = self.primitive.bind(*given, **how)
        return [*made] if self.primitive.multiple_results else [made]


def _is_special(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_special, value))
    return isinstance(value, VaryingSize | Form)


PaddingRule = Callable[[PaddedOperation, Sequence[Any]], Sequence[Any]]
"""The padded results of an operation for padded operands."""
