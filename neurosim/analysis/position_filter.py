"""Decoding with memory: an animal that moves little from one window to the next."""

from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .spatial_bins import SpatialBins

#: Probabilities below this are raised to it, so that an impossible jump is not the end of it all.
_LEAST = 1e-300


class Transition(NamedTuple):
    """Moves between visited bins from one window to the next; see `read_transition`.

    - `weights`: one matrix over the visited bins, or one for each axis of the whole grid, whose
      product is then cut to the visited bins and scaled to sum to 1 from each.
    - `valid`: `(bin,)`, which bins of the flattened map are visited.
    - `shape`: of the map; `total`: `(visited,)`, what moves from each bin are to be divided by.
    """

    weights: list[np.ndarray]
    valid: np.ndarray
    shape: tuple[int, ...]
    total: np.ndarray

    def forward(self, p: np.ndarray) -> np.ndarray:
        """Where the animal is next, `(visited,)`, given where it is."""
        return self._apply(p / self.total, transposed=True)

    def backward(self, q: np.ndarray) -> np.ndarray:
        """Mean of `q`, `(visited,)`, over the next bins from each."""
        return self._apply(q, transposed=False) / self.total

    def _apply(self, values: np.ndarray, *, transposed: bool) -> np.ndarray:
        matrices = [w.T for w in self.weights] if transposed else self.weights
        if matrices[0].shape[0] == len(values) and len(matrices) == 1:
            return matrices[0] @ values
        grid = np.zeros(len(self.valid))
        grid[self.valid] = values
        grid = grid.reshape(self.shape)
        moved = matrices[0] @ grid
        if len(matrices) == 2:
            moved = moved @ matrices[1].T
        return moved.ravel()[self.valid]


def read_transition(memory: Any, bins: SpatialBins, valid: np.ndarray) -> Transition:
    """The transition that `memory` of `decode_position` stands for.

    **Raises:** `ValueError` for a standard deviation that is not positive, or probabilities that do
    not fit the bins, are negative, or leave a visited bin without any move to a visited one.
    """
    n_bins = len(valid)
    given = np.asarray(as_floating(memory, "memory"), np.float64)
    n_valid = int(valid.sum())
    if given.ndim == 0:
        if not 0 < given < np.inf:
            raise ValueError(
                f"memory must be the s.d. of the displacement in a window, positive; got {memory}."
            )
        axes = [_gaussian_moves(bins, axis, float(given)) for axis in range(len(bins.shape))]
        moves = Transition(axes, valid, bins.shape, np.ones(n_valid))
    else:
        if given.shape != (n_bins, n_bins) or not np.isfinite(given).all() or (given < 0).any():
            raise ValueError(
                f"memory must be a number, or ({n_bins}, {n_bins}) probabilities of moves, finite "
                f"and not negative; got shape {given.shape}."
            )
        moves = Transition([given[np.ix_(valid, valid)]], valid, (n_valid,), np.ones(n_valid))
    total = moves.backward(np.ones(n_valid))
    if not (total > 0).all():
        place = int(np.flatnonzero(valid)[np.argmin(total)])
        raise ValueError(f"memory has no move from bin {place} to any visited one.")
    return moves._replace(total=total)


def _gaussian_moves(bins: SpatialBins, axis: int, sd: float) -> np.ndarray:
    """Weights of moves from row to column: density of the displacement times width of the bin."""
    centre, width = bins.centres[axis], np.diff(bins.edges[axis])
    way = centre - centre[:, None]
    if not bins.wrap[axis]:
        return np.exp(-0.5 * (way / sd) ** 2) * width
    period = bins.periods[axis]
    n_turns = 1 + int(9 * sd / period)
    turns = np.arange(-n_turns, n_turns + 1)
    # Round the circle either way, and more than once where moves are that long.
    return np.exp(-0.5 * ((way[..., None] + turns * period) / sd) ** 2).sum(axis=-1) * width


def filter_positions(
    log_likelihood: np.ndarray, log_prior: np.ndarray, transition: Transition, *, smoother: bool
) -> np.ndarray:
    """Posteriors `(window, visited bin)` of a hidden Markov model, in the order of windows.

    **Arguments:**

    - `log_likelihood`: `(window, visited bin)`, up to a constant in each window.
    - `log_prior`: `(visited bin,)`, of the first window.
    - `transition`: from one window to the next.
    - `smoother`: whether later windows count too.
    """
    posterior = np.empty_like(log_likelihood)
    log_p = log_prior
    for k in range(len(posterior)):
        if k > 0:
            log_p = np.log(np.maximum(transition.forward(posterior[k - 1]), _LEAST))
        posterior[k] = _probabilities(log_p + log_likelihood[k])
    if not smoother:
        return posterior
    later = np.zeros(posterior.shape[1])
    for k in range(len(posterior) - 2, -1, -1):
        message = _probabilities(log_likelihood[k + 1] + later)
        later = np.log(np.maximum(transition.backward(message), _LEAST))
        log_filtered = np.log(np.maximum(posterior[k], _LEAST))
        posterior[k] = _probabilities(log_filtered + later)
    return posterior


def _probabilities(log_p: np.ndarray) -> np.ndarray:
    p = np.exp(log_p - log_p.max())
    return p / p.sum()
