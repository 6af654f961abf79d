"""Field centres near walls: where contexts are confused, and the bias that is best."""

from typing import Any

import jax
import numpy as np

from ..analysis import mean_distance_surface, optimal_boundary_bias
from .place_capacity_maps import (
    NOISES,
    Population,
    bootstrap_moments,
    draw_maps,
    nearest_distances,
)

#: Groups of maps, between which the mean surface varies.
_GROUPS = 10


def bias_draws(config: Any, width: float, bias: float) -> dict[str, Any]:
    """Smallest distances `(noise, pair)`, and the mean surface of all cells drawn."""
    key = jax.random.fold_in(jax.random.key(config.seed), 4)
    population = Population(config.room, width, config.n_cells, bias=bias)
    distances, maps = [], []
    draws = draw_maps(population, key, 2 * config.bias_pairs)
    for a, b in zip(draws, draws):
        distances.append(nearest_distances(a, b))
        maps += [a, b]
    rates = np.array(maps)
    groups = np.array_split(rates, min(_GROUPS, len(rates)))
    surfaces = np.sqrt([mean_distance_surface(group) for group in groups])
    surface = np.sqrt(mean_distance_surface(rates))
    i, j = np.unravel_index(int(np.argmin(surface)), surface.shape)
    x = population.grid[:, 0] / config.room
    return {
        "distances": np.array(distances).T,
        "surface": surface,
        "height": surface[i, j],
        "height_error": surfaces[:, i, j].std(ddof=1) / np.sqrt(len(groups)),
        # 0 at walls, 1/2 in the middle; the farther of the two positions.
        "from_wall": np.minimum(x, 1 - x)[[i, j]].max(),
        "wall": surface[0, 0],
        "middle": surface[len(x) // 2, len(x) // 2],
    }


def boundary_bias(config: Any, parts: list[list[dict[str, np.ndarray]]]) -> dict[str, Any]:
    """Heights, places of minima and moments by `(width, bias)`, and the best bias by width.

    The best is that with the highest minimum. The bias at which the minimum leaves the walls is
    where the surface is as high at the wall as in the middle, between the biases tried.
    """
    biases = np.array(config.biases)
    a: dict[str, Any] = {
        "bias.biases": biases,
        "bias.widths": np.array(config.bias_widths),
        "bias.surfaces": np.array([part["surface"] for part in parts[0]]),
    }
    for name in ("height", "height_error", "from_wall", "wall", "middle"):
        a[f"bias.{name}"] = np.array([[part[name] for part in row] for row in parts])
    for i, noise in enumerate(NOISES):
        moments = [
            [
                bootstrap_moments(part["distances"][i], config.n_cells, noise, config.bootstraps)
                for part in row
            ]
            for row in parts
        ]
        a[f"bias.{noise}.mu"] = np.array([[m.mu for m in row] for row in moments])
        a[f"bias.{noise}.mu_error"] = np.array([[m.mus.std() for m in row] for row in moments])
    a["bias.best"] = biases[np.argmax(a["bias.height"], axis=1)]
    a["bias.crossing"] = np.array(
        [crossing(biases, wall - middle) for wall, middle in zip(a["bias.wall"], a["bias.middle"])]
    )
    a["bias.theory"] = np.array(
        [optimal_boundary_bias(width, config.room) for width in config.bias_widths]
    )
    return a


def crossing(biases: np.ndarray, excess: np.ndarray) -> float:
    """The bias at which the excess of the wall over the middle changes sign; NaN if it does not."""
    order = np.argsort(biases)
    b, e = biases[order], excess[order]
    change = np.flatnonzero((e[:-1] > 0) & (e[1:] <= 0))
    if not len(change):
        return float("nan")
    k = change[0]
    return float(b[k] + (b[k + 1] - b[k]) * e[k] / (e[k] - e[k + 1]))
