"""One look for all figures: legible at paper size, colours that colour-blind readers tell apart."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler

#: Okabe and Ito's palette, without yellow, which is too light for lines on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")

#: For ordered values such as intervals: perceptually uniform, and monotone in lightness.
SEQUENTIAL = "viridis"

_RC: Any = {
    "figure.dpi": 150,
    "savefig.dpi": 200,
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=PALETTE),
    "lines.linewidth": 1.2,
    "figure.constrained_layout.use": True,
    "mathtext.default": "regular",
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw in the house style within this block; the caller's settings come back after it."""
    with mpl.rc_context(_RC):
        yield


def ordered_colours(n: int) -> Any:
    """`n` colours `(n, 4)` for ordered values, without the palest end."""
    return mpl.colormaps[SEQUENTIAL](np.linspace(0.0, 0.9, max(n, 1)))


def new_figure(
    width: float | int, height: float | int, rows: int = 1, columns: int = 1, **kwargs: Any
) -> Any:
    """A figure and its axes, `(figure, axes)`, sized in inches, that no GUI needs to close."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **kwargs)
