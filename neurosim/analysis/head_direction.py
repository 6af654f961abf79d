"""Tuning to the direction of the head."""

import dataclasses
from math import tau
from typing import Any

import numpy as np

from ..kernels import whole_number
from .rate_maps import rate_maps


@dataclasses.dataclass(frozen=True, eq=False)
class HeadDirectionTuning:
    """Rates of cells by heading; see `head_direction_tuning`. Angles are in the unit given.

    - `rates`: `(cell, bin)`, in Hz; NaN where a heading never came up.
    - `occupancy`: `(bin,)`, in s; `counts`: `(cell, bin)`; `edges`: `(bin + 1,)`.
    - `mean_vector_length`: `(cell,)`, from 0, no direction, to 1, one direction alone.
    - `preferred_direction`: `(cell,)`, from 0 to the period.
    - `peak_rate`: `(cell,)`, in Hz.
    - `rayleigh_p`: `(cell,)`, the p value of Rayleigh's test.
    """

    rates: np.ndarray
    occupancy: np.ndarray
    counts: np.ndarray
    edges: np.ndarray
    mean_vector_length: np.ndarray
    preferred_direction: np.ndarray
    peak_rate: np.ndarray
    rayleigh_p: np.ndarray


def head_direction_tuning(
    spike_times: Any,
    times: Any,
    headings: Any,
    *,
    n_bins: Any = 60,
    period: Any = tau,
    sigma: Any = 0.0,
    **path: Any,
) -> HeadDirectionTuning:
    """Rate by heading, mean vector length, preferred direction and Rayleigh's test.

    Mean vector and preferred direction are of the rates, not of the headings at spikes, so that
    headings that were held for longer do not count for more. They come from rates without
    smoothing, which would shorten the mean vector; `sigma` smooths the rates that are returned.

    **Rayleigh's test takes spikes for independent.** Those of a burst are not, and p values are too
    small: `spatial_information_test` with `wrap=True` shifts spikes in time, and keeps bursts.

    **Arguments:**

    - `spike_times`, `times`: as for `rate_maps`.
    - `headings`: `(sample,)`, angles; NaN where they are lost.
    - `n_bins`: number of bins round the circle.
    - `period`: of a full turn in the unit of the angles: 2 pi by default, 360 for degrees.
    - `sigma`: standard deviation of Gaussian smoothing round the circle, in that unit.
    - `path`: whatever else `rate_maps` takes to say what counts, such as `epochs` or `max_gap`.

    **Returns:** `HeadDirectionTuning`. NaN for a cell without spikes.

    **Raises:** `ValueError` as `rate_maps`, for fewer than three bins, or a period that is not
    positive.

    **Reference:** Zar (2010), Biostatistical Analysis, section 27.1, for the p value; Taube, Muller
    & Ranck (1990), Journal of Neuroscience 10, 420-435.
    """
    if not 0 < period < np.inf:
        raise ValueError(f"period must be positive and finite, got {period}.")
    n_bins = whole_number(n_bins, "n_bins", least=3)
    edges = np.linspace(0, float(period), n_bins + 1)
    maps = rate_maps(spike_times, times, headings, edges=edges, sigma=sigma, wrap=True, **path)
    turn = np.exp(1j * tau * (np.arange(n_bins) + 0.5) / n_bins)
    raw = maps.raw_rates
    weights = np.where(np.isfinite(raw), raw, 0)
    total = weights.sum(axis=1)
    fires = total > 0
    vector = np.where(fires, weights @ turn / np.where(fires, total, 1), np.nan)
    length = np.abs(vector)
    direction = np.mod(np.angle(vector), tau) * (float(period) / tau)
    return HeadDirectionTuning(
        rates=maps.rates,
        occupancy=maps.occupancy,
        counts=maps.counts,
        edges=edges,
        mean_vector_length=length,
        # Vectors that cancel point nowhere.
        preferred_direction=np.where(length > 1e-12, direction, np.nan),
        peak_rate=np.where(fires, np.nanmax(maps.rates, axis=1), np.nan),
        rayleigh_p=rayleigh_p(length, maps.counts.sum(axis=1)),
    )


def rayleigh_p(length: Any, n: Any) -> np.ndarray:
    """The p value of Rayleigh's test for a mean vector of `length` from `n` angles.

    exp(sqrt(1 + 4 n + 4 n^2 (1 - length^2)) - (1 + 2 n)), good to three digits from n = 10 on.

    **Reference:** Zar (2010), Biostatistical Analysis, equation 27.4.
    """
    r, count = np.asarray(length, np.float64), np.asarray(n, np.float64)
    root = np.sqrt(1 + 4 * count + 4 * count**2 * (1 - np.clip(r, 0, 1) ** 2))
    return np.where(count > 0, np.exp(np.minimum(root - (1 + 2 * count), 0)), np.nan)
