"""The exponent of capacity by width of fields and size of the room."""

import itertools
from typing import Any

import jax
import numpy as np

from ..analysis import capacity_exponent, large_deviation_rate, soft_overlap_rate
from .place_capacity_maps import (
    NOISES,
    Population,
    bootstrap_moments,
    draw_maps,
    nearest_distances,
)

#: Levels of noise in heat maps, up to that at which nothing is separable.
_STEPS = 30


def width_distances(
    config: Any, dim: int, size: float, widths: Any, n_pairs: int
) -> dict[str, Any]:
    """Smallest distances `(width, noise, pair)`, and exponents that need no Gaussian.

    All widths of a room have the same draws of numbers and centres. Contexts are confused at walls,
    so that exact exponents are those of squared differences there.
    """
    key = jax.random.fold_in(jax.random.key(config.seed), 10 * dim)
    distances, exact, soft = [], [], []
    for width in widths:
        population = Population(size, size * width, config.n_cells, dim)
        maps = draw_maps(population, key, 2 * n_pairs)
        n = round(len(population.grid) ** (1 / dim))
        # One wall and the other: all corners of a box, each with itself.
        ends = [0, n - 1] if dim == 1 else [0, n - 1, n * (n - 1), n * n - 1]
        of_width, squared = [], []
        for a, b in zip(maps, maps):
            of_width.append(nearest_distances(a, b))
            squared.append((a[ends] - b[ends]) ** 2)
        y = np.concatenate(squared).ravel()
        distances.append(np.array(of_width).T)
        exact.append([large_deviation_rate(y, 4 * s**2) / 2 for s in config.sigmas])
        soft.append([soft_overlap_rate(y, s) for s in config.sigmas])
    return {"distances": np.array(distances), "exact": np.array(exact), "soft": np.array(soft)}


def exponents(config: Any, dim: int, parts: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Exponents `(room, width)` with errors, and `(room, width, level)` for heat maps."""
    shape = (len(parts), len(parts[0]["distances"]))
    a: dict[str, Any] = {
        f"width.{dim}d.exact": np.array([part["exact"] for part in parts]),
        f"width.{dim}d.soft": np.array([part["soft"] for part in parts]),
    }
    for i, (noise, level) in enumerate(zip(NOISES, (config.sigma, config.phi))):
        here = f"width.{dim}d.{noise}."
        found = np.zeros((6, *shape))
        for room, width in itertools.product(*map(range, shape)):
            d = parts[room]["distances"][width, i]
            m = bootstrap_moments(d, config.n_cells, noise, config.bootstraps)
            draws = capacity_exponent(m.mus, m.lams, noise=noise, level=level)
            found[:, room, width] = (
                m.mu, m.mus.std(), m.lam, m.lams.std(),
                capacity_exponent(m.mu, m.lam, noise=noise, level=level), draws.std(),
            )  # fmt: skip
        for j, name in enumerate(("mu", "lam", "exponent")):
            a[here + name], a[here + name + "_error"] = found[2 * j : 2 * j + 2]
        top = found[0].max() / (2 if noise == "constant" else 1)
        levels = np.linspace(0, top, _STEPS + 1)[1:]
        a[here + "levels"] = levels
        gammas = [capacity_exponent(found[0], found[2], noise=noise, level=v) for v in levels]
        a[here + "map"] = np.stack(gammas, axis=-1)
    return a
