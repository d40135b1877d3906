"""Coordinates along dimensions that a point does not have."""

from __future__ import annotations

import pytest

from tempoc.symbolic.coordinates import coordinates
from tempoc.symbolic.domain import Bound, Dim, Universe
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.text import show


def world(**bounds: str) -> Universe:
    """A dimension `t` for each bound `T`."""
    values = {name: parse_expr(text) if text else None for name, text in bounds.items()}
    return Universe(
        bounds=tuple(Bound(name=n, value=v) for n, v in values.items()),
        dims=tuple(Dim(name=n.lower(), bound=n) for n in bounds),
    )


@pytest.mark.parametrize(
    ("bounds", "dims", "found"),
    [
        ({"I": "", "K": "4*I"}, "k", "i = k//4, k = k"),
        ({"I": "", "K": "4*I"}, "i", "i = i"),
        ({"I": "", "K": "4*I"}, "ik", "i = i, k = k"),
        ({"I": "", "E": "2*I", "K": "3*E"}, "k", "i = k//6, e = k//3, k = k"),
        ({"T": "", "N": "(T+2)//3"}, "t", "t = t, n = t//3"),
        ({"T": "", "N": "T//3"}, "t", "t = t"),
        ({"T": "", "N": "(T+3)//3"}, "t", "t = t"),
        ({"I": "", "K": "4*I+1"}, "k", "k = k"),
        ({"I": "", "J": "", "K": "I+J"}, "k", "k = k"),
        ({"I": "", "K": "4*I", "M": "2*I"}, "km", "k = k, m = m"),
        ({"I": "7", "K": "28"}, "k", "k = k"),
        ({"I": "", "T": ""}, "t", "t = t"),
    ],
)
def test_coordinates(bounds: dict[str, str], dims: str, found: str) -> None:
    made = coordinates(world(**bounds), tuple(dims))
    assert ", ".join(f"{d} = {show(e)}" for d, e in made.items()) == found
