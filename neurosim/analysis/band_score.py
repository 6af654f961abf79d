"""How much a map is one plane wave: bands of firing across the box."""

from typing import Any

import numpy as np

from .activity import as_floating
from .planar_maps import read_bin_sizes, read_planar_maps, warn_of_reasons


def band_score(maps: Any, *, bin_size: Any, wave_numbers: Any = None) -> Any:
    """Largest correlation of a map with a plane wave whose crest is at the first corner.

    The waves are cos(2 pi (k x + l y)) at k and l of `wave_numbers`, x and y from 0 in the first
    bin to the whole side in the last, as published. All have one phase and bands that fall from
    left to right, so that a band shifted, or mirrored, has another score: `band_power_share` has
    no such preference.

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, bins, bins)` or `(bins, bins)`; bins that are NaN are left out.
    - `bin_size`: width of bins, or one for each axis.
    - `wave_numbers`: `(wave,)`, in cycles per unit of length, for both axes; 0, 0.1, ..., 1.9 by
        default, as published for lengths in m.

    **Returns:** `(cell,)`, or a float; from -1 to 1. NaN, with a warning, for maps that are
    constant or NaN throughout.

    **Raises:** `ValueError` for another shape, infinite values, a bin size that is not positive,
    wave numbers that are not finite, or fewer than two bins a side.

    **Reference:** Acosta, Dinc, Redman, Madhav, Klindt & Miolane (2024), NeurIPS 37, whose code
    defined it so.
    """
    stack = read_planar_maps(maps)
    sizes = read_bin_sizes(bin_size)
    k = np.arange(20) / 10 if wave_numbers is None else np.asarray(as_floating(wave_numbers, "k"))
    if k.ndim != 1 or len(k) == 0 or not np.isfinite(k).all():
        raise ValueError(f"wave_numbers must be (wave,), finite; got {wave_numbers}.")
    shape = stack.values.shape[1:]
    if min(shape) < 2:
        raise ValueError(f"a wave needs two bins along each axis; got {shape}.")
    along = [
        np.exp(2j * np.pi * k[:, None] * np.linspace(0, n * size, n))
        for n, size in zip(shape, sizes)
    ]
    waves = (along[0][:, None, :, None] * along[1][None, :, None, :]).real
    waves = waves.reshape(len(k) ** 2, -1)
    known = np.isfinite(stack.values).reshape(len(stack.values), -1).astype(float)
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    rates = np.where(known > 0, stack.values.reshape(known.shape), 0)
    rates = np.where(known > 0, rates - rates.sum(axis=1, keepdims=True) / n, 0)
    # Waves about their means over the bins that each map knows.
    spread = known @ (waves**2).T - (known @ waves.T) ** 2 / n
    varies = spread > 1e-9 * n
    size = np.sum(rates**2, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(varies, rates @ waves.T / np.sqrt(np.where(varies, spread, 1) * size), -np.inf)
    score = np.where(stack.patterned, r.max(axis=1), np.nan)
    reasons = stack.reasons.copy()
    reasons[(reasons == "") & ~np.isfinite(score)] = "no wave varies over the bins that are known"
    warn_of_reasons("the band score", reasons)
    return stack.result(np.where(reasons == "", np.clip(score, -1, 1), np.nan))


def band_power_share(maps: Any) -> Any:
    """Share of a map's variance in its strongest plane wave, whatever its phase and direction.

    From the discrete Fourier transform of the map about its mean: the power of the strongest wave
    vector and its opposite over that of all. Of maps that hold whole periods, bands have 1, a
    square lattice 1/2 and a hexagonal one 1/3. Where the box cuts periods, power leaks into
    neighbouring waves, and shares are lower.

    **Arguments:** `maps`: `RateMaps`, `(cell, bins, bins)` or `(bins, bins)`; bins that are NaN
    are set to the mean of the others.

    **Returns:** `(cell,)`, or a float; from 0 to 1. NaN, with a warning, for maps that are constant
    or NaN throughout.

    **Raises:** `ValueError` for another shape, or infinite values.
    """
    stack = read_planar_maps(maps)
    known = np.isfinite(stack.values)
    n = np.maximum(known.sum(axis=(1, 2), keepdims=True), 1)
    filled = np.where(known, stack.values, 0)
    scale = np.abs(filled).max(axis=(1, 2), keepdims=True)
    filled = filled / np.where(scale > 0, scale, 1)
    filled = np.where(known, filled - filled.sum(axis=(1, 2), keepdims=True) / n, 0)
    power = np.abs(np.fft.fft2(filled)) ** 2
    power[:, 0, 0] = 0
    opposite = np.roll(power[:, ::-1, ::-1], 1, axis=(1, 2))
    # Waves at half the sampling rate along each axis that they have are their own opposites.
    own = [2 * np.arange(m) % m == 0 for m in power.shape[1:]]
    pair = np.where(own[0][:, None] & own[1], power, power + opposite)
    total = power.sum(axis=(1, 2))
    share = pair.max(axis=(1, 2)) / np.where(total > 0, total, 1)
    warn_of_reasons("the share of the strongest wave", stack.reasons)
    return stack.result(np.where(stack.patterned, share, np.nan))
