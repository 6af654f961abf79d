"""How many contexts place cells tell apart, and what that costs in resolution of position."""

import dataclasses
from typing import Any

import jax
import numpy as np

from .experiment import (
    Experiment,
    Result,
    announce,
    check_at_least,
    check_positive,
    text_table,
)
from .place_capacity_bias import bias_draws, boundary_bias
from .place_capacity_expected import Expected, expectations
from .place_capacity_figures import plot
from .place_capacity_growth import field_counts, growth, growth_distances
from .place_capacity_maps import kept_part
from .place_capacity_tradeoff import tradeoff, tradeoff_draws
from .place_capacity_width import exponents, width_distances
from .run_directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class Config:
    """Populations, rooms and how many pairs of contexts are drawn; lengths in m, rates in Hz."""

    room: float = 1.0
    """Length of the track for growth, trade-off and bias."""
    width: float = 1 / 3
    """Of fields, twice their standard deviation, where capacity grows with cells."""
    cells: tuple[int, ...] = (50, 100, 200, 400)
    """Numbers of cells."""
    growth_pairs: int = 300
    """Pairs of contexts for each of them."""
    sigmas: tuple[float, ...] = (1.0, 2.0, 3.0, 5.0)
    """Levels of constant noise."""
    phis: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    """Levels of Poisson-like noise."""
    sigma: float = 2.0
    """The constant noise at which widths are compared."""
    phi: float = 0.5
    """The Poisson-like noise at which they are."""
    q: float = 2.0
    """Standard deviations of the length of noise that are held apart; 0 for laws of growth."""
    confidence: float = 0.95
    """With which all contexts are separable."""
    n_cells: int = 200
    """Cells where widths and biases are compared."""
    rooms: tuple[float, ...] = (1.0, 16.0)
    """Lengths of tracks."""
    relative_widths: tuple[float, ...] = (1 / 3, 0.5, 1.0, 2.0)
    """Widths over the length of the room."""
    width_pairs: int = 100
    """Pairs of contexts for each."""
    areas: tuple[float, ...] = ()
    """Areas of boxes (m^2)."""
    box_widths: tuple[float, ...] = (0.2, 1 / 3, 0.5, 1.0, 2.0)
    """Widths over the side of the box."""
    box_pairs: int = 60
    """Pairs of contexts for each."""
    tradeoff_widths: tuple[float, ...] = (0.04, 0.08, 0.16, 0.4, 1.0)
    """Widths of fields."""
    tradeoff_pairs: int = 60
    """Pairs of contexts for each."""
    weights: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    """Of contexts, lambda."""
    biases: tuple[float, ...] = (0.3, 0.6, 0.7, 1.0)
    """a of Beta(a, a), from which centres are drawn."""
    bias_widths: tuple[float, ...] = (1 / 3,)
    """Widths for which they are compared; nearest distances and surfaces are shown for the first.
    """
    bias_pairs: int = 100
    """Pairs of contexts for each."""
    counted_cells: int = 2000
    """Whose fields are counted in each room."""
    bootstraps: int = 200
    """Draws for standard errors."""
    seed: int = 0
    """Of all draws."""

    def __post_init__(self):
        pairs = ("growth_pairs", "width_pairs", "box_pairs", "tradeoff_pairs", "bias_pairs")
        least = {"n_cells": 2, "counted_cells": 10, "bootstraps": 10, "seed": 0, "q": 0}
        check_at_least(self, least | dict.fromkeys(pairs, 5))
        check_positive(self, ["room", "width", "sigma", "phi"])
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must be between 0 and 1, got {self.confidence}.")
        for name in ("cells", "rooms", "relative_widths", "sigmas", "phis", "areas", "box_widths",
                     "tradeoff_widths", "biases", "bias_widths"):  # fmt: skip
            values = getattr(self, name)
            if not values and name != "areas":
                raise ValueError(f"{name} must have one value or more.")
            if not all(0 < v < np.inf for v in values) or len(set(values)) < len(values):
                raise ValueError(f"{name} must be positive and different, got {values}.")
        if not all(isinstance(n, int) and n >= 2 for n in self.cells):
            raise ValueError(f"cells must be whole numbers from 2 on, got {self.cells}.")
        if not self.weights or not all(0 <= v <= 1 for v in self.weights):
            raise ValueError(f"weights must be from 0 to 1, got {self.weights}.")


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Moments, capacity, exponents, trade-off and bias, with errors, beside what is known.

    Draws are kept in `parts/` of the folder as each is finished; a run that goes on reads them.

    **Returns:** a `Result`; its table has what was measured, what is expected with its margin, and
    whether the one is within the other.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space:
    increasing location resolution reduces contextual capacity in hippocampal codes, NeurIPS 37.
    """
    del resume  # A new folder has no parts.

    def part(name: str, compute: Any) -> dict[str, np.ndarray]:
        announce(name, progress)
        return kept_part(directory, name.replace(" ", "_"), compute)

    # In double precision whatever the caller's, so that draws are the same.
    with jax.enable_x64(True):
        counts = part("fields", lambda: field_counts(config))
        pairs = part("growth", lambda: growth_distances(config))
        tracks = [
            part(f"track {size:g} m", lambda size=size: width_distances(
                config, 1, size, config.relative_widths, config.width_pairs))
            for size in config.rooms
        ]  # fmt: skip
        boxes = [
            part(f"box {area:g} m2", lambda area=area: width_distances(
                config, 2, area**0.5, config.box_widths, config.box_pairs))
            for area in config.areas
        ]  # fmt: skip
        resolution = [
            part(f"trade-off {width:.3g} m", lambda width=width: tradeoff_draws(config, width))
            for width in config.tradeoff_widths
        ]
        walls = [
            [
                part(f"bias {bias:g} at {width:.3g} m",
                     lambda width=width, bias=bias: bias_draws(config, width, bias))
                for bias in config.biases
            ]
            for width in config.bias_widths
        ]  # fmt: skip
    announce("resampling", progress)
    arrays = {f"fields.{name}": value for name, value in counts.items()}
    arrays |= growth(config, pairs["distances"])
    arrays |= {"width.rooms": np.array(config.rooms), "width.areas": np.array(config.areas)}
    arrays |= {"width.1d.widths": np.array(config.relative_widths)}
    arrays |= exponents(config, 1, tracks)
    if boxes:
        arrays |= {"width.2d.widths": np.array(config.box_widths)} | exponents(config, 2, boxes)
    arrays |= tradeoff(config, resolution)
    arrays |= boundary_bias(config, walls)
    checks = expectations(config, arrays)
    summary = {
        "expectations": {c.name: c.__dict__ | {"within": c.within} for c in checks},
        "within": sum(c.within for c in checks),
        "outside": [c.name for c in checks if not c.within],
    }
    return Result(config, summary, arrays, _table(checks))


def _table(checks: list[Expected]) -> str:
    rows = [[c.name, c.measured, c.expected, "within" if c.within else "OUTSIDE"] for c in checks]
    return text_table(["quantity", "measured", "expected", ""], rows)


EXPERIMENT = Experiment(
    name="place_capacity",
    summary="Place cells: contexts told apart by cells, width and bias; against resolution",
    config=Config,
    presets={
        "quick": Config(),
        "paper": Config(
            cells=(50, 100, 200, 400, 800),
            growth_pairs=2000,
            rooms=(1.0, 2.0, 4.0, 8.0, 16.0),
            relative_widths=(0.1, 0.2, 1 / 3, 0.5, 0.75, 1.0, 2.0),
            width_pairs=200,
            areas=(1.0, 4.0, 16.0),
            tradeoff_widths=tuple(float(w) for w in np.geomspace(0.04, 1.0, 15).round(4)),
            tradeoff_pairs=120,
            biases=(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
            bias_widths=(1 / 3, 0.1, 0.2, 0.5),
            bias_pairs=200,
            counted_cells=20000,
        ),
    },
    run=run,
    plot=plot,
)
