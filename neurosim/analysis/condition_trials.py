"""Single trials sorted by condition, whatever is missing of them, and their averages."""

import dataclasses
from functools import cached_property

import numpy as np

from .dpca_marginalisation import TIME


@dataclasses.dataclass(frozen=True)
class ConditionTrials:
    """Single trials of the cells of an experiment; see `condition_layouts`.

    - `values`: `(trial, time, neuron)`, 0 where not observed; one time point without a time axis.
        Over `unit`, as is all that is computed from them.
    - `observed`: booleans `(trial, time, neuron)` or `(trial, time, 1)`; `None` where all are.
    - `cell`: `(trial,)`, the condition of each trial, a flat index into the levels.
    - `levels`: for each factor its levels, in order; `"time"` last, where there is a time axis.
    - `unit`: a power of two that keeps squares of the values in range, 1 but for extreme scales.
    """

    values: np.ndarray
    observed: np.ndarray | None
    cell: np.ndarray
    levels: dict[str, np.ndarray]
    unit: float = 1.0

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors, the axes of averages."""
        return tuple(self.levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of averages, `(*levels, neuron)`."""
        return (*(len(values) for values in self.levels.values()), self.values.shape[-1])

    @property
    def n_cells(self) -> int:
        """Number of conditions, time apart."""
        return int(np.prod([len(v) for name, v in self.levels.items() if name != TIME]))

    @cached_property
    def _members(self) -> np.ndarray:
        return (self.cell == np.arange(self.n_cells)[:, None]).astype(np.float64)

    @cached_property
    def _sums(self) -> np.ndarray:
        """Sum over the trials of each cell, `(cell, time, neuron)`."""
        n_trials, n_times, n_neurons = self.values.shape
        flat = self._members @ self.values.reshape(n_trials, -1)
        return flat.reshape(self.n_cells, n_times, n_neurons)

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of trials observed, `(cell, time, neuron)`; axes of length 1 where all agree."""
        if self.observed is None:
            return self._members.sum(axis=1)[:, None, None]
        flat = self._members @ self.observed.reshape(len(self.cell), -1).astype(np.float64)
        return flat.reshape(self.n_cells, *self.observed.shape[1:])

    def averages(self) -> np.ndarray:
        """Mean over the trials of each cell, `(*levels, neuron)`.

        **Raises:** `ValueError` for a cell that was never observed.
        """
        self.check_counts(1)
        if len(self.cell) == self.n_cells and (self.cell == np.arange(self.n_cells)).all():
            # Averages already.
            return self.values.reshape(self.shape)
        return (self._sums / self.counts).reshape(self.shape)

    def check_counts(self, least: int) -> None:
        """Raise `ValueError` unless every cell has so many trials, of all neurons at all times."""
        few = np.argwhere(self.counts < least)
        if len(few) == 0:
            return
        cell, time, neuron = (int(i) for i in few[0])
        message = f"{self.describe(cell)} has {int(self.counts[cell, time, neuron])} trial(s)"
        if self.counts.shape[1] > 1:
            message += f" at time {time}"
        if self.counts.shape[2] > 1:
            missing = np.unique(few[:, 2])
            message += f" of neuron {neuron} (neurons with too few: {_some(missing)})"
        raise ValueError(
            f"{message}, and {least} are needed in every cell. Leave out the level, the time "
            "points or the neurons that lack them."
        )

    def describe(self, cell: int) -> str:
        """A condition in words."""
        levels = [(name, values) for name, values in self.levels.items() if name != TIME]
        at = np.unravel_index(cell, [len(values) for _, values in levels]) if levels else ()
        named = [f"{name} = {values[i]}" for (name, values), i in zip(levels, at, strict=True)]
        return ", ".join(named) or "the average"

    def held_out(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Averages without one random trial of each cell, and those trials.

        Where the trial has ended, or a neuron was not observed in it, another one stands in. Two
        trials of every cell are taken for granted (`check_counts`).

        **Returns:** both of the shape of `averages`.
        """
        test = np.stack([self._pick(np.flatnonzero(m), rng) for m in self._members > 0])
        train = (self._sums - test) / (self.counts - 1)
        return train.reshape(self.shape), test.reshape(self.shape)

    def _pick(self, trials: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random one of some trials, `(time, neuron)`."""
        if self.observed is None:
            return self.values[rng.choice(trials)]
        seen = self.observed[trials]
        # The first in a random order that was observed.
        rank = rng.random((len(trials), 1, 1))
        first = np.argmax(np.where(seen, rank, -1), axis=0)
        return np.take_along_axis(self.values[trials], first[None], axis=0)[0]

    def shuffled(self, rng: np.random.Generator) -> "ConditionTrials":
        """The same trials, dealt out to the conditions anew, as many to each.

        Where trials end early, those that are left at a time point are dealt out among its cells,
        and where neurons were observed in different trials, those of each neuron: all keep their
        numbers of trials.
        """
        if self.observed is None:
            return dataclasses.replace(self, cell=rng.permutation(self.cell))
        seen = self.observed
        if (seen == seen[:, :1]).all():
            seen = seen[:, :1]
        rank = rng.random((len(seen), 1, 1))
        # Those observed come first, in random order and in their own.
        source = np.argsort(np.where(seen, rank, np.inf), axis=0)
        target = np.argsort(~seen, axis=0, kind="stable")
        order = np.empty_like(source)
        np.put_along_axis(order, target, source, axis=0)
        values = np.take_along_axis(self.values, order, axis=0)
        return dataclasses.replace(self, values=np.where(self.observed, values, 0))

    def noise(self, kind: str) -> np.ndarray:
        """Covariance of single trials about the averages, `(neuron, neuron)`.

        Every cell counts the same, however many trials it has; those with one trial tell nothing.
        Between neurons that are not observed in the same trials it is 0.

        **Arguments:**

        - `kind`: `"full"`, or `"diagonal"` for the variances alone.
        """
        several = np.broadcast_to(self.counts, self._sums.shape) > 1
        n_cells = several.sum(axis=(0, 1))
        if not n_cells.all():
            raise ValueError(
                f"neuron {int(np.argmin(n_cells))} has no cell with two trials, so that there is "
                "no noise to estimate: use noise='none'."
            )
        flat = self._residuals(1 / n_cells).reshape(-1, len(n_cells))
        return flat.T @ flat if kind == "full" else np.diag(np.einsum("sn,sn->n", flat, flat))

    def noise_of_averages(self) -> float:
        """Sum over neurons and cells of the variance of averages, from that of single trials."""
        residuals = self._residuals(1 / self.counts)
        return float(np.einsum("ijk,ijk->", residuals, residuals))

    def _residuals(self, weight: np.ndarray) -> np.ndarray:
        """Deviations of single trials, whose sum of squares by cell is its variance by weight."""
        mean = self._sums / np.maximum(self.counts, 1)
        share = np.sqrt(np.where(self.counts > 1, weight / np.maximum(self.counts - 1, 1), 0))
        residual = (self.values - mean[self.cell]) * share[self.cell]
        return residual if self.observed is None else np.where(self.observed, residual, 0)


def _some(which: np.ndarray) -> str:
    listed = ", ".join(str(int(i)) for i in which[:8])
    return listed if len(which) <= 8 else f"{listed}, ... {len(which)} in all"
