"""What a host program asks of a device: the backend has one, a dry run one that holds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tempoc.program.nodes.tuning import RunTuning


class Device(Protocol):
    """Allocates, grows and moves arrays; makes the coordinates of a point."""

    def zeros(self, shape: tuple[int, ...], dtype: str, tuning: RunTuning, passed: bool) -> Any:
        """A new array of zeros; one that is ``passed`` to a kernel at once may be of the host."""

    def lengthened(self, array: Any, axis: int, size: int) -> Any:
        """The array with ``size`` slots along an axis, zeros at the end."""

    def coordinates(self, point: tuple[int, ...]) -> Any:
        """A new int32 vector: the device may read the one before at any later time."""

    def coordinate(self, value: int) -> Any:
        """The same of a single coordinate, which may be part of a table."""

    def constant(self, point: tuple[int, ...]) -> Any:
        """A vector for many calls."""

    def to_devices(self, copies: Sequence[Any], tuning: RunTuning) -> list[Any]:
        """Copies on the device of arrays with the host, in one call that does not wait."""

    def chunk(self, copy: Any, first: int, size: int) -> Any:
        """A copy on the device of ``size`` rows of an array with the host, zeros behind its end."""

    def to_hosts(self, arrays: Sequence[Any]) -> list[Any]:
        """Copies with the host of arrays on the device, in one call that need not wait."""

    def wait(self, arrays: object) -> None:
        """Wait for arrays, or for copies."""

    def is_on_host(self, array: Any) -> bool:
        """Whether an array is with the host."""
