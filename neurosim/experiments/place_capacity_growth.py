"""How capacity grows with the number of cells, and how many fields cells have."""

from typing import Any

import jax
import numpy as np
from scipy.stats import skew

from ..analysis import (
    capacity_exponent,
    gaussian_log_overlap,
    log_context_capacity,
    separability_threshold,
)
from ..analysis.gamma_poisson import fit_gamma_poisson
from .place_capacity_maps import (
    NOISES,
    Population,
    bootstrap_moments,
    draw_maps,
    nearest_distances,
)


def growth_distances(config: Any) -> dict[str, Any]:
    """Smallest distances of pairs of contexts, `(noise, number of cells, pair)`.

    Cells are independent of each other: the first n of a map are a map of n cells. All numbers of
    cells so have the same pairs.
    """
    largest = max(config.cells)
    key = jax.random.fold_in(jax.random.key(config.seed), 1)
    maps = draw_maps(Population(config.room, config.width, largest), key, 2 * config.growth_pairs)
    found = [
        [nearest_distances(a[:, :n], b[:, :n]) for n in config.cells] for a, b in zip(maps, maps)
    ]
    return {"distances": np.moveaxis(np.array(found), 0, -1).swapaxes(0, 1)}


def growth(config: Any, distances: np.ndarray) -> dict[str, Any]:
    """Moments, probability to be separable and capacity, by number of cells and noise level.

    The capacity is that of `q` = 0, for which the law of growth is stated.
    """
    a: dict[str, Any] = {"growth.cells": np.array(config.cells)}
    for noise, of_noise, levels in zip(NOISES, distances, (config.sigmas, config.phis)):
        moments = [
            bootstrap_moments(d, n, noise, config.bootstraps)
            for n, d in zip(config.cells, of_noise)
        ]
        here = f"growth.{noise}."
        a[here + "distances"] = of_noise
        a[here + "levels"] = np.array(levels)
        for name, many in (("mu", "mus"), ("lam", "lams")):
            a[here + name] = np.array([getattr(m, name) for m in moments])
            a[here + name + "_error"] = np.array([getattr(m, many).std() for m in moments])
        a[here + "skewness"] = skew(of_noise, axis=1)
        found: dict[str, list[Any]] = {}
        for level in levels:
            for n, d, m in zip(config.cells, of_noise, moments):
                share = np.mean(d > separability_threshold(n, noise=noise, level=level, q=config.q))
                overlap = gaussian_log_overlap(m.mu, m.lam, n, noise=noise, level=level, q=config.q)
                values = {
                    "separable": -np.expm1(overlap),
                    "separable_share": share,
                    # Of Laplace's estimate, which is not 0 where all or none are separable.
                    "separable_error": _binomial_error(share, len(d)),
                    "log_capacity": _log_capacity(config, m.mu, m.lam, n, noise, level),
                    "log_capacity_range": np.quantile(
                        _log_capacity(config, m.mus, m.lams, n, noise, level), (0.16, 0.84)
                    ),
                }
                for name, value in values.items():
                    found.setdefault(name, []).append(value)
        for name, values in found.items():
            stack = np.array(values)
            a[here + name] = stack.reshape(len(levels), len(config.cells), *stack.shape[1:])
        mu, lam = a[here + "mu"], a[here + "lam"]
        a[here + "exponent"] = np.array(
            [capacity_exponent(mu, lam, noise=noise, level=level) for level in levels]
        )
    return a


def _log_capacity(config: Any, mu: Any, lam: Any, n: int, noise: Any, level: float) -> np.ndarray:
    overlap = gaussian_log_overlap(mu, lam, n, noise=noise, level=level, q=0.0)
    return log_context_capacity(overlap, confidence=config.confidence)


def _binomial_error(share: Any, n: int) -> float:
    p = (share * n + 1) / (n + 2)
    return float(np.sqrt(p * (1 - p) / n))


def field_counts(config: Any) -> dict[str, Any]:
    """Numbers of fields of cells in each room beside their distribution, and what a fit finds."""
    key = jax.random.fold_in(jax.random.key(config.seed), 2)
    rooms = [Population(size, size / 3, 1) for size in config.rooms]
    draws = [
        np.asarray(p.ensemble.draw_counts(jax.random.fold_in(key, i), config.counted_cells))
        for i, p in enumerate(rooms)
    ]
    most = max(int(d.max()) for d in draws) + 1
    sizes = np.repeat(np.array(config.rooms, float), config.counted_cells)
    fit = fit_gamma_poisson(np.concatenate(draws), sizes)
    k = np.arange(most + 1)
    tables = [p.ensemble.statistics.pmf(k, p.ensemble.environment) for p in rooms]
    return {
        "shares": np.array([np.bincount(d, minlength=most + 1) / len(d) for d in draws]),
        "pmf": np.array(tables),
        "fit": np.array([fit.alpha, fit.alpha_error, fit.beta0, fit.beta0_error]),
    }
