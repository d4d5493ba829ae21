"""The look that all figures share."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pauc_lightning.region import Region

# The palette of Okabe and Ito (2008, https://jfly.uni-koeln.de/color), distinguishable with the common forms of colour
# blindness. Dashes distinguish the lines in print as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":")
NEGATIVE_COLOUR, POSITIVE_COLOUR = COLOURS[:2]
REGION_COLOUR = "#E8ECF1"
EDGE_COLOUR = "#6B7785"


class NotebookFigure(Figure):
    """A figure that a notebook shows as an image.

    It is not registered with pyplot, which would keep every figure alive: one per epoch would fill the memory.
    """

    def _repr_png_(self) -> bytes:
        """Return the PNG that Jupyter displays for a cell that ends in this figure."""
        png = io.BytesIO()
        self.savefig(png, format="png", dpi=100, bbox_inches="tight")
        return png.getvalue()


def new_figure(width: float, height: float) -> NotebookFigure:
    """Create an empty figure of this size in inches."""
    return NotebookFigure(figsize=(width, height), dpi=150, layout="constrained")


def as_typed(text: str) -> str:
    """Escape a name that people chose: matplotlib would typeset what stands between two dollars as mathematics."""
    return text.replace("$", r"\$")


def line_style(index: int) -> dict[str, Any]:
    """Return the colour and dashes of the line with this number; 28 numbers are distinguishable."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def shade(ax: Axes, region: Region) -> None:
    """Shade the region."""
    corner = (region.min_fpr, region.min_tpr)
    width, height = region.max_fpr - region.min_fpr, 1.0 - region.min_tpr
    ax.add_patch(
        Rectangle(
            corner,
            width,
            height,
            facecolor=REGION_COLOUR,
            edgecolor=EDGE_COLOUR,
            linewidth=0.8,
            zorder=1,
        )
    )


def frame_unit_square(ax: Axes) -> None:
    """Show the whole ROC plane, with labelled axes and the line of a random score."""
    ax.plot([0, 1], [0, 1], color=EDGE_COLOUR, linewidth=0.8, linestyle=(0, (2, 2)), label="chance", zorder=2)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    ax.set_xlabel("False-positive rate")
    ax.set_ylabel("True-positive rate")
    tidy(ax)


def tidy(ax: Axes) -> None:
    """Remove the lines that carry no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=3, width=0.6)
