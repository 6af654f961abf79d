"""Contexts against resolution of position, by width of fields."""

from typing import Any

import jax
import numpy as np

from ..analysis import (
    cramer_rao_bound,
    gaussian_log_overlap,
    log_context_capacity,
    optimal_width,
)
from ..kernels import min_distance
from .place_capacity_maps import Population, bootstrap_moments, draw_information


def tradeoff_draws(config: Any, width: float) -> dict[str, Any]:
    """Smallest distances `(pair,)` and least squared errors of position `(map, position)`.

    Errors are for a noise of 1 Hz: they grow with its square.
    """
    key = jax.random.fold_in(jax.random.key(config.seed), 3)
    population = Population(config.room, width, config.n_cells)
    draws = draw_information(population, key, 2 * config.tradeoff_pairs)
    distances, errors = [], []
    for (a, of_a), (b, of_b) in zip(draws, draws):
        distances.append(min_distance(a, b).value)
        errors += [cramer_rao_bound(I, reduction="none") for I in (of_a, of_b)]
    return {"distances": np.array(distances), "errors": np.array(errors)}


def tradeoff(config: Any, parts: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Resolution, capacity and best widths for each weight, with errors by resampling.

    Resolution is the mean over positions and the median over maps; the mean over both is beside it.
    """
    widths = np.array(config.tradeoff_widths)
    rng = np.random.default_rng(0)
    found, draws = [], []
    for part in parts:
        m = bootstrap_moments(part["distances"], config.n_cells, "constant", config.bootstraps)
        # The mean over positions: over maps, that is of the few with a gap where fields are narrow.
        of_maps = config.sigma**2 * part["errors"].mean(axis=1)
        found.append([
            np.log(np.median(of_maps)), np.log(of_maps.mean()), *_contexts(config, m.mu, m.lam)
        ])  # fmt: skip
        chosen = rng.integers(len(of_maps), size=(config.bootstraps, len(of_maps)))
        draws.append([
            np.log(np.median(of_maps[chosen], axis=1)), *_contexts(config, m.mus, m.lams)
        ])  # fmt: skip
    middle, mean, log_M, log_P2 = np.array(found).T
    resampled = np.array(draws)
    a: dict[str, Any] = {
        "tradeoff.widths": widths,
        "tradeoff.log_error": middle,
        "tradeoff.log_error_mean": mean,
        "tradeoff.log_error_error": resampled[:, 0].std(axis=1),
        "tradeoff.log_capacity": log_M,
        "tradeoff.log_capacity_range": np.quantile(resampled[:, 1], (0.16, 0.84), axis=1).T,
        "tradeoff.log_separable": log_P2,
        "tradeoff.weights": np.array(config.weights),
    }
    for j, (name, contexts) in enumerate((("capacity", log_M), ("separable", log_P2)), start=1):
        a[f"tradeoff.best_{name}"] = np.array(
            [optimal_width(widths, contexts, middle, weight) for weight in config.weights]
        )
        many = [
            [
                optimal_width(widths, resampled[:, j, k], resampled[:, 0, k], weight)
                for k in range(config.bootstraps)
            ]
            for weight in config.weights
        ]
        a[f"tradeoff.best_{name}_range"] = np.quantile(many, (0.16, 0.84), axis=1).T
    return a


def _contexts(config: Any, mu: Any, lam: Any) -> tuple[Any, Any]:
    """ln M and ln P2."""
    overlap = gaussian_log_overlap(
        mu, lam, config.n_cells, noise="constant", level=config.sigma, q=config.q
    )
    # Where P2 is 0 to float64, its logarithm is -inf.
    with np.errstate(divide="ignore"):
        log_P2 = np.log1p(-np.exp(overlap))
    return log_context_capacity(overlap, confidence=config.confidence), log_P2
