"""Deformed grid cells: what becomes of the size, the metric and the torus of a module."""

import dataclasses
import math
from typing import Any

import numpy as np

from ..analysis import compare_rdms, rdm
from ..analysis.change_profile import change_profile
from ..analysis.manifold_size import manifold_size
from ..analysis.pullback_metric import pullback_metric
from ..kernels import grid_wave_vectors
from ..kernels.smoothed_grid_map import wave_attenuation
from .experiment import (
    Experiment,
    Result,
    announce,
    check_at_least,
    check_positive,
    spread,
    text_table,
)
from .grid_deformations_figures import TITLES, plot
from .grid_deformations_maps import deformed_modules, push, pushed_module, wave_axes, wave_phase
from .grid_deformations_topology import manifold_topology
from .run_directory import RunDirectory

#: Measures by name; each has a value for each seed.
MEASURES = (
    "radius", "largest_norm", "largest_rate", "participation_ratio", "conformal_factor",
    "variation", "anisotropy", "globality", "pearson", "spearman",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Config:
    """A module of ideal grid cells in an arena of side 1, and its deformations."""

    n_per_side: int = 8
    """Phases along each vector of the lattice: the square of it cells."""
    spacing: float = 0.3
    """Of the grid, in sides of the arena."""
    orientation: float = 0.0
    """Of the grid (rad)."""
    n_bins: int = 40
    """Bins along each side of the arena."""
    center: tuple[float, float] = (0.5, 0.5)
    """Of the attractor and of rings."""
    smoothing: float = 0.05
    """Standard deviation of diffused fields' smoothing."""
    push_gain: float = 0.4
    """Of attracted fields."""
    push_width: float = 0.2
    """How far the attractor reaches."""
    push_gains: tuple[float, ...] = (0.2, 0.4, 0.8)
    """Compared at a constant amplitude and at a constant budget."""
    fraction: float = 0.17
    """Of cells that become bands, or rings."""
    ring_width: float = 1.0
    """Standard deviation of rings' smoothing along the angle (rad)."""
    n_landmarks: int = 180
    """Points from which the topology is computed."""
    n_seeds: int = 3
    """Draws of what is random."""
    seed: int = 0
    """Of the first draw."""

    def __post_init__(self):
        check_at_least(self, {"n_per_side": 4, "n_bins": 12, "n_landmarks": 20, "n_seeds": 1,
                              "seed": 0})  # fmt: skip
        check_positive(self, ["spacing", "smoothing", "push_width", "ring_width"])
        if self.n_landmarks > self.n_bins**2:
            raise ValueError(
                f"n_landmarks must be at most the {self.n_bins**2} bins, got {self.n_landmarks}."
            )
        if not 0 < self.fraction < 1:
            raise ValueError(f"fraction must be between 0 and 1, got {self.fraction}.")
        if not all(-1 < gain < math.exp(1.5) / 2 for gain in (self.push_gain, *self.push_gains)):
            raise ValueError("push gains must be above -1 and below 2.24, or the push folds space.")
        if not all(0 <= c <= 1 for c in self.center):
            raise ValueError(f"center must lie in the arena, got {self.center}.")


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Size, metric, topology and likeness to the original of each deformed module.

    About a minute, so that an interrupted run starts again.

    **Returns:** a `Result`; its table has the deformations, pushes of several gains, and closed
    forms beside what was measured.

    **Reference:** Acosta, Dinc, Redman, Madhav, Klindt & Miolane (2024), Global distortions from
    local rewards: neural coding strategies in path-integrating neural systems, NeurIPS 37, Fig. 3.
    """
    del directory, resume
    arrays: dict[str, Any] = {}
    found: dict[str, dict[str, list[Any]]] = {}
    original = distances = None
    axes = wave_axes(config)
    for name, seed, maps in deformed_modules(config):
        announce(f"{TITLES[name]}, draw {seed}" if seed else TITLES[name], progress)
        if original is None:
            original, distances = maps, _distances(maps)
        measured = _measure(config, original, distances, maps)
        for key, value in measured.items():
            found.setdefault(name, {}).setdefault(key, []).append(value)
        if seed == 0:
            # Along components of the original, so that pictures tell sizes.
            arrays[f"{name}.projection"] = (_points(maps) @ np.asarray(axes).T).T
            arrays[f"{name}.maps"] = maps[_shown(len(maps), maps, original)]
            arrays[f"{name}.loops"], arrays[f"{name}.voids"] = measured["topology"][:2]
            metric = pullback_metric(maps, bin_size=1 / config.n_bins, accuracy=4)
            arrays[f"{name}.conformal_factor_map"] = metric.conformal_factor
            arrays[f"{name}.anisotropy_map"] = metric.anisotropy
    for name, measures in found.items():
        arrays |= {f"{name}.{key}": np.array(measures[key]) for key in MEASURES}
        arrays[f"{name}.betti"] = np.array([t.betti for t in measures["topology"]])
        for q in (1, 2):
            arrays[f"{name}.lifetimes{q}"] = np.array(
                [t.lifetimes(q) for t in measures["topology"]]
            )
    arrays["phase"] = wave_phase(config)
    arrays |= _pushes(config, progress)
    checks = _closed_forms(config, arrays)
    summary = _summary(config, list(found), arrays)
    summary["closed_forms"] = {name: {"measured": a, "known": b} for name, a, b in checks}
    return Result(config, summary, arrays, _tables(config, summary, arrays))


def _measure(config: Config, original: Any, distances: Any, maps: Any) -> dict[str, Any]:
    size = manifold_size(maps)
    metric = pullback_metric(maps, bin_size=1 / config.n_bins, accuracy=4)
    inner = (slice(2, -2), slice(2, -2))
    changed = maps is not original
    return {
        "radius": size.radius,
        "largest_norm": size.largest_norm,
        "largest_rate": size.largest_rate,
        "participation_ratio": size.participation_ratio,
        "conformal_factor": float(metric.conformal_factor[inner].mean()),
        "variation": metric.variation,
        "anisotropy": float(np.nanmean(metric.anisotropy[inner])),
        "globality": change_profile(
            original, maps, center=config.center, bin_size=1 / config.n_bins
        ).globality if changed else float("nan"),
        "pearson": compare_rdms(distances, _distances(maps), measure="pearson"),
        "spearman": compare_rdms(distances, _distances(maps), measure="spearman"),
        "topology": manifold_topology(maps, n_landmarks=config.n_landmarks),
    }  # fmt: skip


def _points(maps: np.ndarray) -> np.ndarray:
    """Population vectors by position about their mean, `(position, cell)`."""
    points = maps.reshape(len(maps), -1).T
    return points - points.mean(axis=0)


def _distances(maps: np.ndarray) -> np.ndarray:
    """Distances of population vectors, between every second bin along both axes."""
    return np.sqrt(rdm(_points(maps[:, ::2, ::2])).dissimilarities)


def _shown(n: int, maps: np.ndarray, original: np.ndarray) -> np.ndarray:
    """Three cells for the figure; where some were replaced, two of those and one of the others."""
    changed = np.abs(maps - original).max(axis=(1, 2)) > 1e-9
    if not 0 < changed.sum() < n:
        return np.linspace(0, n - 1, 3).astype(int)
    return np.argsort(~changed, kind="stable")[[0, 1, -1]]


def _pushes(config: Config, progress: bool | None) -> dict[str, np.ndarray]:
    """Sizes, lifetimes and Betti numbers by gain, at a constant amplitude and budget."""
    arrays: dict[str, Any] = {"push.gains": np.array(config.push_gains)}
    for amplitude in ("constant", "budget"):
        radii, tops = [], []
        for gain in config.push_gains:
            announce(f"push of gain {gain:g}, {amplitude}", progress)
            maps = pushed_module(config, gain, amplitude)
            radii.append(manifold_size(maps).radius)
            tops.append(manifold_topology(maps, n_landmarks=config.n_landmarks))
        arrays[f"push.{amplitude}.radius"] = np.array(radii)
        arrays[f"push.{amplitude}.betti"] = np.array([t.betti for t in tops])
        for q in (1, 2):
            arrays[f"push.{amplitude}.lifetimes{q}"] = np.array([t.lifetimes(q) for t in tops])
    return arrays


def _closed_forms(config: Config, a: dict[str, Any]) -> list[tuple[str, float, float]]:
    """What is known, beside what was measured."""
    n = config.n_per_side**2
    k = grid_wave_vectors(spacing=config.spacing, orientation=config.orientation)
    F = float(np.asarray(wave_attenuation(k, covariance=config.smoothing**2))[0])
    bands = round(config.fraction * n)
    J = push(config, config.push_gain).jacobian[2:-2, 2:-2]
    factor = 4 * math.pi * math.sqrt(n) / (9 * config.spacing)
    pushed = factor * np.sqrt(np.sum(J**2, axis=(-1, -2)) / 2)

    def first(name: str, measure: str) -> float:
        return float(np.median(a[f"{name}.{measure}"]))

    def ratio(name: str, measure: str) -> float:
        return first(name, measure) / first("original", measure)

    loops = a["diffused.lifetimes1"][0, :2] / a["original.lifetimes1"][0, :2]
    return [
        ("radius", first("original", "radius"), math.sqrt(2 * n / 27)),
        ("conformal factor", first("original", "conformal_factor"), factor),
        ("diffused: ratio of radii", ratio("diffused", "radius"), F),
        ("diffused: ratio of largest norms", ratio("diffused", "largest_norm"),
         math.sqrt((3 + 2 * F**2) / 5)),
        ("diffused: ratio of largest rates", ratio("diffused", "largest_rate"), (1 + 2 * F) / 3),
        ("diffused: ratio of conformal factors", ratio("diffused", "conformal_factor"), F),
        ("diffused: ratio of the longest loops", float(loops[0]), F),
        ("attracted: ratio of radii", ratio("attracted", "radius"), 1.0),
        ("attracted: mean conformal factor", first("attracted", "conformal_factor"),
         float(pushed.mean())),
        ("some bands: radius", first("some_bands", "radius"),
         math.sqrt((n - bands) * 2 / 27 + bands / 8)),
        ("parallel bands: radius", first("parallel_bands", "radius"), 2 / 9 * math.sqrt(n / 2)),
    ]  # fmt: skip


def _summary(config: Config, names: list[str], a: dict[str, Any]) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    for name in names:
        summary[name] = {key: a[f"{name}.{key}"].tolist() for key in MEASURES}
        summary[name]["betti"] = a[f"{name}.betti"].tolist()
        for q, word in ((1, "loops"), (2, "voids")):
            summary[name][word] = a[f"{name}.lifetimes{q}"].tolist()
    summary["push"] = {
        amplitude: {
            str(gain): a[f"push.{amplitude}.betti"][i].tolist()
            for i, gain in enumerate(config.push_gains)
        }
        for amplitude in ("constant", "budget")
    }
    return summary


def _tables(config: Config, summary: dict[str, Any], a: dict[str, Any]) -> str:
    rows = []
    for name in (key for key in summary if key in TITLES):
        loops, voids = a[f"{name}.lifetimes1"], a[f"{name}.lifetimes2"]
        rows.append([
            TITLES[name], _three(a[f"{name}.radius"]), _bars(loops, 2), _bars(voids, 1),
            _betti(a[f"{name}.betti"]), _three(a[f"{name}.conformal_factor"]),
            spread(a[f"{name}.variation"]), spread(a[f"{name}.anisotropy"]),
            _three(a[f"{name}.pearson"]), spread(a[f"{name}.globality"]),
        ])  # fmt: skip
    header = ["module", "radius", "loops; next", "voids; next", "Betti", "conformal factor",
              "variation", "anisotropy", "RSA", "globality"]  # fmt: skip
    pushes = [
        [f"{gain:g}", amplitude, f"{a[f'push.{amplitude}.radius'][i]:.3f}",
         _bars(a[f"push.{amplitude}.lifetimes1"][i : i + 1], 2),
         _bars(a[f"push.{amplitude}.lifetimes2"][i : i + 1], 1),
         _betti(a[f"push.{amplitude}.betti"][i : i + 1])]
        for amplitude in ("constant", "budget") for i, gain in enumerate(config.push_gains)
    ]  # fmt: skip
    known = [[name, f"{v['measured']:.5g}", f"{v['known']:.5g}"]
             for name, v in summary["closed_forms"].items()]  # fmt: skip
    return "\n\n".join([
        text_table(header, rows),
        text_table(["gain", "amplitude", "radius", "loops; next", "voids; next", "Betti"], pushes),
        text_table(["closed form", "measured", "known"], known),
    ])  # fmt: skip


def _three(values: Any) -> str:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"{middle:.3f}" if low == high else f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def _bars(lifetimes: np.ndarray, n: int) -> str:
    """The `n` longest bars, medians over draws, and the next."""
    middle = np.median(lifetimes, axis=0)
    return ", ".join(f"{v:.2f}" for v in middle[:n]) + f"; {middle[n]:.2f}"


def _betti(numbers: np.ndarray) -> str:
    return ", ".join(sorted({f"({b[0]}, {b[1]}, {b[2]})" for b in numbers}))


EXPERIMENT = Experiment(
    name="grid_deformations",
    summary="Deformed grid cells: diffused, attracted, bands and rings; size, metric and topology",
    config=Config,
    presets={"quick": Config(n_landmarks=120), "paper": Config(n_seeds=10)},
    run=run,
    plot=plot,
)
