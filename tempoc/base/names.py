"""Fresh names, deterministic: they depend only on the names taken before in the same scope."""

from collections.abc import Container, Iterable

COTANGENT = "d"
"""The component of a cotangent's name before the name of the variable: ``loss.d.w``."""


def fresh_name(wish: str, *taken: Container[str], separator: str = "") -> str:
    """`wish` if nothing has taken it, otherwise with the lowest number from 2 on that is free."""
    name, number = wish, 2
    while any(name in names for names in taken):
        name, number = f"{wish}{separator}{number}", number + 1
    return name


class Names:
    """Generates names that differ from each other and from `taken`.

    The first `x` is `x`, the next `x2`, then `x3`: the same calls give the same names, whatever
    ran before in the process. With `spaced` the next `x2` is `x2_2`, else `x22`.
    """

    __slots__ = ("_next", "_spaced", "_taken")

    def __init__(self, taken: Iterable[str] = (), *, spaced: bool = False) -> None:
        """Start with names that must not be generated."""
        self._taken = dict.fromkeys(taken)
        self._spaced = spaced
        self._next: dict[str, int] = {}

    def fresh(self, wish: str) -> str:
        """`wish` if it is free, otherwise `wish` with the lowest number that makes it unique."""
        name, space = wish, "_" if self._spaced and wish[-1:].isdigit() else ""
        number = self._next.get(wish, 2)
        while name in self._taken:
            name = f"{wish}{space}{number}"
            number += 1
        self._next[wish] = number
        self._taken[name] = None
        return name

    def take(self, name: str) -> None:
        """Mark a name as used."""
        self._taken[name] = None

    def __contains__(self, name: str) -> bool:
        return name in self._taken
