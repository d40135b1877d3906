"""Which tests a change needs, and which are for the long run: the marker ``long`` and its helpers.

`make test` runs what pins every mechanism once; `make test-long` (``pytest --long``) runs the rest
as well: real sizes, the other members of families, many random programs. A test that is named by
its own id runs in any case. Golden files belong to tests that `make test` runs, or they would be
nobody's there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import product
from math import isqrt
from typing import Any, TypeVar
from zlib import crc32

import pytest

Case = TypeVar("Case")
Size = TypeVar("Size")
chosen = {"long": False}
"""Whether this is the long run: known before test modules are imported."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run tests marked long as well")


def pytest_configure(config: pytest.Config) -> None:
    chosen["long"] = bool(config.getoption("--long"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests out, unless somebody asked for them."""
    if chosen["long"] or "long" in (config.getoption("markexpr", "") or ""):
        return
    named = tuple(arg for arg in config.args if "::" in arg)
    left = [x for x in items if x.get_closest_marker("long") and not _is_named(x.nodeid, named)]
    if left:
        out = set(map(id, left))
        items[:] = [item for item in items if id(item) not in out]
        config.hook.pytest_deselected(items=left)


def _is_named(test: str, arguments: Iterable[str]) -> bool:
    """Whether a test is asked for by its id, with its parameters or without them."""
    return any(arg.endswith((test, test.partition("[")[0])) for arg in arguments)


def examples(few: int, *, long: int) -> int:
    """How many random examples a test tries: the first ``few`` of those of the long run."""
    return long if chosen["long"] else few


def in_share(text: str, of: int) -> bool:
    """Whether a program is among those, one ``of`` so many, of which `make test` tries more.

    That is the same in each run, and in the long run all programs are.
    """
    return chosen["long"] or crc32(text.encode()) % of == 0


def ends(sizes: Sequence[Size]) -> Sequence[Size]:
    """The smallest and the largest of sizes in order; in the long run all."""
    return sizes if chosen["long"] or len(sizes) < 3 else (sizes[0], sizes[-1])


def spread(cases: Iterable[Case], kind: Callable[[Case], object]) -> tuple[list[Case], list[Case]]:
    """A few cases of each kind, evenly spread over all of that kind, and the rest.

    Of n they are the square root and two, so that large families have more, but not in step.
    """
    kinds: dict[object, list[Case]] = {}
    few: list[Case] = []
    rest: list[Case] = []
    for case in cases:
        kinds.setdefault(kind(case), []).append(case)
    for every in kinds.values():
        count = min(len(every), isqrt(len(every)) + 2)
        chosen = {k * len(every) // count for k in range(count)}
        for k, case in enumerate(every):
            (few if k in chosen else rest).append(case)
    return few, rest


def sampled(
    cases: Iterable[Any], reason: str, *, of: int = 1, keep: Callable[[Any], bool] | None = None
) -> list[Any]:
    """Parameters of which `make test` runs every ``of``-th, or those to ``keep``."""
    return [
        case if (keep(case) if keep else number % of == 0) else long(case, reason)
        for number, case in enumerate(cases)
    ]


def in_turns(first: Collection[Any], second: Collection[Any], reason: str) -> list[Any]:
    """All pairs, as parameters; `make test` runs each of ``first`` with one of ``second``, in turn.

    So each of ``second`` has its share if there are as many of ``first``.
    """
    pairs = []
    for (a, left), (b, right) in product(enumerate(first), enumerate(second)):
        pair = pytest.param(left, right)
        pairs.append(pair if a % len(second) == b else long(pair, reason))
    return pairs


def long(case: Any, reason: str) -> Any:
    """A case that only the long run tries; a tuple holds the values of several parameters."""
    mark = pytest.mark.long(reason)
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, mark))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
