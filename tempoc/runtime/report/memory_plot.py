"""The memory plot: bytes of stores over the time of a run, as a small SVG file.

The time that JAX compiles is left out: it can exceed the rest of the run, says nothing about the
program, and does not recur in the next run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tempoc.diagnostics.render import printed
from tempoc.runtime.messages.units import size_text, unit_of

MOST = 1000
"""The most points; more are thinned out, to the least and the greatest of four in a row."""
_SHORT = 0.01
"""Fewer seconds are not worth a word."""
_WIDTH, _HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 88, 20, 34, 46
_STYLE = (
    "text{font:12px sans-serif;fill:#444}.title{font-weight:bold;fill:#222}"
    ".grid{stroke:#ddd}.area{fill:#4c72b0;fill-opacity:.18}"
    ".line{fill:none;stroke:#4c72b0;stroke-width:1.6}"
    ".said{stroke:#c44e52;stroke-width:1.2;stroke-dasharray:5 4}.told{fill:#c44e52}"
)

PlotPoint = tuple[float, int]
"""Seconds since the beginning, and the bytes from then on."""
PlotSpan = tuple[float, float]
"""From when to when, in seconds since the beginning."""


@dataclass(slots=True)
class MemoryCurve:
    """The bytes by time as reported by the ledger, and the spans of compilations."""

    start: float = field(default_factory=time.perf_counter)
    points: list[PlotPoint] = field(default_factory=list)
    compiling: list[PlotSpan] = field(default_factory=list)

    def note(self, size: int) -> None:
        """Add a point: so many bytes from now on."""
        self.points.append((time.perf_counter() - self.start, size))
        if len(self.points) > MOST:
            self.points = [*thinned(self.points)]

    def compiled(self, seconds: float) -> None:
        """Add a compilation that ends now, merged with those that it contains."""
        last = time.perf_counter() - self.start
        first = last - seconds
        while self.compiling and self.compiling[-1][1] > first:
            first = min(first, self.compiling.pop()[0])
        self.compiling.append((first, last))

    def svg(self, title: str, predicted: int) -> str:
        """The file; it begins with the first point and ends now."""
        last = time.perf_counter() - self.start
        end = [(last, self.points[-1][1])] if self.points else []
        points = [*without_spans([*self.points, *end], self.compiling)]
        begin = points[0][0] if points else 0.0
        points = [(t - begin, size) for t, size in points]
        return draw_svg(points, title, predicted, sum(b - a for a, b in self.compiling))


def without_spans(points: Sequence[PlotPoint], spans: Sequence[PlotSpan]) -> Iterator[PlotPoint]:
    """The points on a clock that stops during the given disjoint, ordered spans."""
    skipped, k = 0.0, 0
    for t, size in points:
        while k < len(spans) and spans[k][1] <= t:
            skipped += spans[k][1] - spans[k][0]
            k += 1
        in_span = max(0.0, t - spans[k][0]) if k < len(spans) else 0.0
        yield t - skipped - in_span, size


def thinned(points: Sequence[PlotPoint]) -> Iterator[PlotPoint]:
    """Half of the points, the least and the greatest among them."""
    for k in range(0, len(points), 4):
        window = points[k : k + 4]
        low, high = (f(range(len(window)), key=lambda i: window[i][1]) for f in (min, max))
        yield from (window[i] for i in dict.fromkeys(sorted((low, high))))


def draw_svg(
    points: Sequence[PlotPoint], title: str, predicted: int, compiling: float = 0.0
) -> str:
    """Steps from point to point, and a dashed line at what was predicted for the peak."""
    most = max([size for _, size in points], default=0)
    step, unit = _marks(max(most, predicted, 1))
    top = step * math.ceil(max(most, predicted, 1) / step)
    last = max((t for t, _ in points), default=0.0) or 1.0

    def x(t: float) -> str:
        return f"{_LEFT + t / last * (_WIDTH - _LEFT - _RIGHT):.1f}"

    def y(size: float) -> str:
        return f"{_HEIGHT - _BOTTOM - size / top * (_HEIGHT - _TOP - _BOTTOM):.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{_LEFT}" y="20">{_escaped(title)}</text>',
    ]
    for k in range(top // step + 1):
        grid, label = y(k * step), f"{k * step / unit[1]:g} {unit[0]}"
        lines.append(f'<path class="grid" d="M{_LEFT} {grid}H{_WIDTH - _RIGHT}"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{grid}" dy="4" text-anchor="end">{label}</text>')
    spacing = _nice(last / 8)
    for k in range(int(last / spacing + 1e-9) + 1):
        grid, label = x(spacing * k), f"{spacing * k:g}"
        below = _HEIGHT - _BOTTOM + 18
        lines.append(f'<text x="{grid}" y="{below}" text-anchor="middle">{label}</text>')
    seconds = "seconds"
    if compiling >= _SHORT:
        seconds += f", without {compiling:.3g} in which kernels were compiled"
    lines.append(f'<text x="{x(last / 2)}" y="{_HEIGHT - 8}" text-anchor="middle">{seconds}</text>')
    if points:
        path, previous = "", ""
        for t, size in points:
            if y(size) != previous:
                path, previous = f"{path}H{x(t)}V{y(size)}", y(size)
        path += f"H{x(last)}"
        begin = f"M{x(points[0][0])} {y(0)}"
        lines.append(f'<path class="area" d="{begin}{path}V{y(0)}Z"/>')
        lines.append(f'<path class="line" d="{begin}{path}"/>')
    text = f"predicted peak {size_text(predicted)}"
    lines.append(f'<path class="said" d="M{_LEFT} {y(predicted)}H{_WIDTH - _RIGHT}"/>')
    lines.append(f'<text class="told" x="{_WIDTH - _RIGHT}" y="20" text-anchor="end">{text}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _marks(most: int) -> tuple[int, tuple[str, int]]:
    """How far marks are apart, about four of them, and in which unit they are told."""
    unit = unit_of(most)
    return max(1, round(_nice(most / unit[1] / 4) * unit[1])), unit


def _nice(least: float) -> float:
    """A round number that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(n * power for n in (1, 2, 2.5, 5, 10) if n * power >= least)


def _escaped(text: str) -> str:
    return printed(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
