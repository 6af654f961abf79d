"""Draws of place maps, the nearest responses of pairs of them, and parts of a run kept on disk."""

import functools
import io
import zipfile
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from ..analysis import distance_moments
from ..kernels import min_distance
from ..kernels.rate_noise import position_information
from ..models import Environment, FieldStatistics, PlaceMapEnsemble, sample_place_map
from ..training import write_bytes_atomic
from .run_directory import RunDirectory

#: Maps drawn at once, and so held at once.
_BATCH = 16

NOISES: tuple[Literal["constant", "poisson"], ...] = ("constant", "poisson")


class Population(NamedTuple):
    """What maps are drawn from, and where they are looked at.

    - `size`: of the track, or of a side of the box, in m. `width`: of fields, in m.
    - `n_cells`, `dim`, `bias`: see `PlaceMapEnsemble`.
    """

    size: float
    width: float
    n_cells: int
    dim: int = 1
    bias: float = 1.0

    @property
    def ensemble(self) -> PlaceMapEnsemble:
        """With the statistics of fields that were measured on tracks or in boxes."""
        statistics = FieldStatistics.preset(f"rooke2024_{self.dim}d")
        room = Environment(self.size, self.dim)
        return PlaceMapEnsemble(room, statistics, self.width, bias=self.bias)

    @property
    def grid(self) -> np.ndarray:
        """Positions, with walls and middle among them: where responses of contexts come nearest.

        An eighth of the width apart on a track and a quarter in a box, or a tenth of the side.
        """
        fine = (8, 4)[self.dim - 1] * self.size / self.width
        return Environment(self.size, self.dim).grid(2 * int(np.ceil(max(fine, 10) / 2)) + 1)


def draw_maps(population: Population, key: Any, n_maps: int) -> Any:
    """Rates of maps, `(position, cell)` one after another, in batches of one compiled shape."""
    sampler = _sampler(population)
    for start in range(0, n_maps, _BATCH):
        batch = np.asarray(sampler(_keys(key, start)))
        yield from batch[: n_maps - start]


def draw_information(population: Population, key: Any, n_maps: int) -> Any:
    """Rates of maps and their Fisher information, `(position, dim, dim)` for sigma = 1."""
    sampler = _sampler(population, True)
    for start in range(0, n_maps, _BATCH):
        f, I = (np.asarray(part) for part in sampler(_keys(key, start)))
        yield from zip(f[: n_maps - start], I)


def _keys(key: Any, start: int) -> Any:
    return jax.vmap(lambda i: jax.random.fold_in(key, i))(start + np.arange(_BATCH))


@functools.lru_cache(maxsize=64)
def _sampler(population: Population, information: bool = False) -> Any:
    x, ensemble = population.grid, population.ensemble

    def draw(key: Any) -> Any:
        drawn = sample_place_map(key, population.n_cells, ensemble)
        f = drawn(x)
        if not information:
            return f
        return f, position_information(f, drawn.jacobian(x), noise="constant", level=1.0)

    return jax.jit(jax.vmap(draw))


def nearest_distances(a: np.ndarray, b: np.ndarray) -> list[float]:
    """The smallest distance of two contexts for each kind of noise."""
    return [min_distance(a, b, noise).value for noise in NOISES]


class Moments(NamedTuple):
    """mu and lam of distances, and those of resampled ones, `(bootstrap,)`."""

    mu: float
    lam: float
    mus: np.ndarray
    lams: np.ndarray


def bootstrap_moments(
    distances: np.ndarray, n_cells: int, noise: Literal["constant", "poisson"], n: int
) -> Moments:
    """Moments, and those of `n` draws of as many pairs with replacement."""
    rng = np.random.default_rng(0)
    draws = [
        distance_moments(rng.choice(distances, len(distances)), n_cells, noise=noise)
        for _ in range(n)
    ]
    value = distance_moments(distances, n_cells, noise=noise)
    mus, lams = np.array(draws).T
    # All of a few pairs can be the same one.
    return Moments(*value, mus, np.maximum(lams, 1e-3 * value.lam))


def kept_part(
    directory: RunDirectory | None, name: str, compute: Callable[[], dict[str, Any]]
) -> dict[str, np.ndarray]:
    """The arrays of a part of a run: read where they were kept, else computed and kept."""
    if directory is None:
        return {key: np.asarray(value) for key, value in compute().items()}
    path = directory.path / "parts" / f"{name}.npz"
    if path.exists():
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                return dict(arrays)
        except (ValueError, OSError, zipfile.BadZipFile):
            pass  # Damaged: computed again.
    found = {key: np.asarray(value) for key, value in compute().items()}
    path.parent.mkdir(exist_ok=True)
    buffer = io.BytesIO()
    named: Any = found
    np.savez_compressed(buffer, **named)
    write_bytes_atomic(path, buffer.getvalue())
    return found
