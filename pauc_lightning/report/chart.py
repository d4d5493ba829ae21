"""Charts as SVG whose colours and fonts come from the page, so that they follow its light or dark theme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pauc_lightning.report.html import Html, element
from pauc_lightning.report.scale import Floats, Scale

WIDTH = 360
_TOP, _RIGHT, _BOTTOM, _LEFT = 20, 12, 42, 40
_CHARACTER = 6.6
"""Width of a character of a label, in units of the drawing."""


class Chart:
    """A chart with two axes; methods add layers, the first one at the bottom.

    Args:
        x: The horizontal axis.
        y: The vertical axis.
        alt: What the chart shows, in words, for readers who cannot see it.
        height: Height in units of which the width has :data:`WIDTH`.
        is_square: Draw the same length of both axes, as for a ROC curve; replaces the height.
        names: Labels that will stand to the right of the lines' ends, which need room.
    """

    def __init__(
        self,
        x: Scale,
        y: Scale,
        alt: str,
        height: int = 260,
        is_square: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        self.x, self.y, self.alt = x, y, alt
        longest = max((len(name) for _, name in y.ticks), default=0)
        self.left = max(_LEFT, round((28 if y.label else 12) + _CHARACTER * longest))
        room = max((_CHARACTER * len(name) + 8 for name in names if name), default=0)
        self.right = round(WIDTH - max(_RIGHT, room))
        self.top = _TOP
        self.bottom = self.top + self.right - self.left if is_square else height - _BOTTOM
        self.height = self.bottom + _BOTTOM
        self._layers: list[Html] = []

    # ------------------------------------------------------------------ layers

    def line(self, x: ArrayLike, y: ArrayLike, class_: str) -> None:
        """Join points by straight lines; a NaN interrupts the line."""
        self._layers.append(element("path", d=self._path(*self._points(x, y)), class_=f"line {class_}"))

    def area(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, class_: str) -> None:
        """Fill the area between two lines."""
        there, back = self._points(x, low), self._points(x, high)
        outline = (np.concatenate([a, b[::-1]]) for a, b in zip(there, back, strict=True))
        self._layers.append(element("path", d=self._path(*outline) + "Z", class_=class_))

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, class_: str) -> None:
        """Fill a rectangle."""
        (left, right), (bottom, top) = self._points([x0, x1], [y0, y1])
        self._layers.append(
            element(
                "rect",
                x=_number(left),
                y=_number(top),
                width=_number(right - left),
                height=_number(bottom - top),
                class_=class_,
            )
        )

    def bars(self, edges: Floats, base: float, heights: Floats, class_: str) -> None:
        """Draw bars between neighbouring edges, from the base to their heights, as one shape."""
        shown = np.flatnonzero(heights != base)
        left, _ = self._points(edges[:-1], heights)
        right, top = self._points(edges[1:], heights)
        _, bottom = self._points(edges[:1], [base])
        path = "".join(
            f"M{_number(left[k] + 0.4)} {_number(bottom[0])}V{_number(top[k])}H{_number(right[k] - 0.4)}"
            f"V{_number(bottom[0])}Z"
            for k in shown
        )
        self._layers.append(element("path", d=path, class_=class_))

    def dots(self, x: ArrayLike, y: ArrayLike, class_: str, radius: float = 3.5) -> None:
        """Draw a dot at each point."""
        for left, top in zip(*self._points(x, y), strict=True):
            self._layers.append(
                element("circle", cx=_number(left), cy=_number(top), r=radius, class_=f"dot {class_}")
            )

    def whiskers(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, class_: str) -> None:
        """Draw a vertical line at each point."""
        left, bottom = self._points(x, low)
        _, top = self._points(x, high)
        path = "".join(
            f"M{_number(a)} {_number(b)}V{_number(c)}" for a, b, c in zip(left, bottom, top, strict=True)
        )
        self._layers.append(element("path", d=path, class_=f"line {class_}"))

    def text(
        self, x: float, y: float, words: str, class_: str = "", *, dx: float = 0.0, dy: float = 0.0
    ) -> None:
        """Write words at a point, moved by ``dx`` and ``dy`` units to the right and downwards."""
        (left,), (top,) = self._points([x], [y])
        self._layers.append(
            element(
                "text", words, x=_number(left + dx), y=_number(top + dy), class_=f"label {class_}".strip()
            )
        )

    def write(self, left: float, top: float, words: str, class_: str = "") -> None:
        """Write words at a place of the drawing, wherever the axes are."""
        self._layers.append(
            element("text", words, x=_number(left), y=_number(top), class_=f"label {class_}".strip())
        )

    def height_of(self, y: float) -> float:
        """The place of a value of the vertical axis in the drawing."""
        return float(self._points([self.x.low], [y])[1][0])

    def read_out(self, x: Floats, y: Floats, sentences: Sequence[str]) -> None:
        """Show a sentence above the chart while the pointer is near a point; the stylesheet hides it otherwise."""
        left, top = self._points(x, y)
        middles = (left[1:] + left[:-1]) / 2
        starts, ends = np.append(self.left, middles), np.append(middles, self.right)
        for k, sentence in enumerate(sentences):
            if ends[k] - starts[k] < 0.05:
                continue
            self._layers.append(
                element(
                    "g",
                    element(
                        "rect",
                        x=_number(starts[k]),
                        y=self.top,
                        width=_number(ends[k] - starts[k]),
                        height=_number(self.bottom - self.top),
                        class_="hit",
                    ),
                    element(
                        "path", d=f"M{_number(left[k])} {self.top}V{_number(self.bottom)}", class_="hair"
                    ),
                    element("circle", cx=_number(left[k]), cy=_number(top[k]), r=3.5, class_="dot"),
                    element("text", sentence, x=self.right, y=self.top - 7, class_="label end said"),
                    class_="read",
                )
            )

    # ------------------------------------------------------------------ the whole

    def svg(self) -> Html:
        """Write the chart; it is as wide as its place in the page."""
        return element(
            "svg",
            list(self._frame()),
            self._layers,
            viewBox=f"0 0 {WIDTH} {_number(self.height)}",
            role="img",
            aria_label=self.alt,
            class_="chart",
        )

    def _frame(self) -> Iterable[Html]:
        for value, name in self.x.ticks:
            at = _number(self._points([value], [self.y.low])[0][0])
            yield element("path", d=f"M{at} {self.top}V{_number(self.bottom)}", class_="grid")
            yield element("text", name, x=at, y=_number(self.bottom + 16), class_="tick middle")
        for value, name in self.y.ticks:
            at = _number(self._points([self.x.low], [value])[1][0])
            yield element("path", d=f"M{self.left} {at}H{self.right}", class_="grid")
            yield element("text", name, x=self.left - 7, y=at, dy="0.35em", class_="tick end")
        middle = (self.left + self.right) / 2
        yield element(
            "text", self.x.label, x=_number(middle), y=_number(self.bottom + 35), class_="axis middle"
        )
        centre = _number((self.top + self.bottom) / 2)
        yield element(
            "text", self.y.label, transform=f"translate(12 {centre}) rotate(-90)", class_="axis middle"
        )

    def _points(self, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        left = self.left + self.x.place(x) * (self.right - self.left)
        top = self.bottom - self.y.place(y) * (self.bottom - self.top)
        return np.broadcast_arrays(left, top)  # type: ignore[return-value]

    @staticmethod
    def _path(x: Floats, y: Floats) -> str:
        """The commands of a path, without points that change nothing at a tenth of a unit."""
        words: list[str] = []
        last: tuple[float, float] | None = None
        direction: tuple[float, float] | None = None
        for point in zip(np.round(x, 1).tolist(), np.round(y, 1).tolist(), strict=True):
            if not np.isfinite(point).all():
                last = direction = None
                continue
            if last is None:
                words.append(f"M{_number(point[0])} {_number(point[1])}")
            elif point != last:
                step = (np.sign(point[0] - last[0]), np.sign(point[1] - last[1]))
                word = _stroke(point, step)
                if step == direction and 0 in step:  # the horizontal or vertical line goes on
                    words[-1] = word
                else:
                    words.append(word)
                direction = step
            last = point
        return "".join(words)


def _stroke(point: tuple[float, float], step: tuple[float, float]) -> str:
    if step[1] == 0:
        return f"H{_number(point[0])}"
    return f"V{_number(point[1])}" if step[0] == 0 else f"L{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    """A coordinate to a tenth of a unit, which is less than a pixel."""
    return f"{value:.1f}".removesuffix(".0")
