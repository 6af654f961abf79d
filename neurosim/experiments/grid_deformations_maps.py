"""Maps of a module of ideal grid cells, and the ways in which they are deformed."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ..kernels import grid_lattice_vectors, grid_wave_vectors, ideal_grid_module
from ..kernels.band_units import replace_by_bands
from ..kernels.diffeomorphic_push import Diffeomorphism, pushed_rates, radial_push
from ..kernels.ring_smoothing import ring_smoothed_rates
from ..kernels.smoothed_grid_map import smoothed_grid_map

#: What is drawn at random, and so differs between seeds.
RANDOM = ("some_bands", "all_bands", "some_rings")

#: Standard deviation of smoothing along one line, in spacings: no other wave is left.
_ALONG = 3.0


def bin_centres(config: Any) -> np.ndarray:
    """Centres of the bins of an arena of side 1, `(bin, bin, 2)`."""
    centres = (np.arange(config.n_bins) + 0.5) / config.n_bins
    return np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1)


def module_rates(config: Any, x: Any) -> Any:
    """Rates of the undeformed module, `(cell, ...)`."""
    return ideal_grid_module(
        x, n_per_side=config.n_per_side, spacing=config.spacing, orientation=config.orientation
    )


def push(config: Any, gain: float) -> Diffeomorphism:
    """The push of positions about the attractor."""
    return radial_push(
        bin_centres(config), center=config.center, gain=gain, width=config.push_width
    )


def pushed_module(config: Any, gain: float, amplitude: str) -> np.ndarray:
    """The module with fields drawn to the attractor, `(cell, bin, bin)`."""
    return pushed_rates(lambda y: module_rates(config, y), push(config, gain), amplitude=amplitude)


def deformed_modules(config: Any) -> Iterator[tuple[str, int, np.ndarray]]:
    """Name of a deformation, seed and maps `(cell, bin, bin)`, one after the other."""
    x = bin_centres(config)
    original = module_rates(config, x)
    rings = ring_smoothed_rates(
        lambda y: module_rates(config, y), x, center=config.center, width=config.ring_width
    )
    yield "original", 0, original
    yield "diffused", 0, _smoothed(config, x, config.smoothing**2)
    yield "attracted", 0, pushed_module(config, config.push_gain, "constant")
    yield "parallel_bands", 0, _smoothed(config, x, _along_a_lattice_line(config))
    yield "all_rings", 0, rings
    for i in range(config.n_seeds):
        bands, ringed = jax.random.split(jax.random.key(config.seed + i))
        for name, fraction in (("some_bands", config.fraction), ("all_bands", 1.0)):
            mixed = replace_by_bands(bands, original, x, spacing=config.spacing, fraction=fraction)
            yield name, i, np.asarray(mixed)
        n = round(config.fraction * len(original))
        cells = np.asarray(jax.random.permutation(ringed, len(original)))[:n]
        mixed = original.copy()
        mixed[cells] = rings[cells]
        yield "some_rings", i, mixed


def wave_axes(config: Any) -> np.ndarray:
    """Three components of the module, `(3, cell)`: along them it is cos, sin and cos of two waves.

    All six components have the same variance, so that any rotation of them is as good.
    """
    angles = _phases(config) @ _waves(config)[:2].T
    axes = np.stack([np.cos(angles[:, 0]), np.sin(angles[:, 0]), np.cos(angles[:, 1])])
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


def wave_phase(config: Any) -> np.ndarray:
    """Phase of one wave of the grid by bin, `(bin, bin)`, in radians."""
    return bin_centres(config) @ _waves(config)[0]


def _waves(config: Any) -> np.ndarray:
    return np.asarray(grid_wave_vectors(spacing=config.spacing, orientation=config.orientation))


def _smoothed(config: Any, x: np.ndarray, covariance: Any) -> np.ndarray:
    phases = _phases(config)
    return np.asarray(
        smoothed_grid_map(
            x, spacing=config.spacing, orientation=config.orientation, covariance=covariance,
            phase=phases,
        )
    )  # fmt: skip


def _phases(config: Any) -> np.ndarray:
    """Peaks of the module's cells, `(cell, 2)`, in its order."""
    vectors = grid_lattice_vectors(spacing=config.spacing, orientation=config.orientation)
    n = config.n_per_side
    steps = np.stack(np.meshgrid(*[np.arange(n) / n] * 2, indexing="ij"), axis=-1)
    return steps.reshape(-1, 2) @ np.asarray(vectors)


def _along_a_lattice_line(config: Any) -> np.ndarray:
    """Smoothing at right angles to one wave, which it leaves alone."""
    k = _waves(config)[0]
    along = np.array([-k[1], k[0]]) / np.linalg.norm(k)
    return (_ALONG * config.spacing) ** 2 * np.outer(along, along)
