"""Numbers of place fields of recorded cells: the gamma-Poisson distribution of best likelihood."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from .known_arrays import read_known


class GammaPoissonFit(NamedTuple):
    """Statistics of numbers of place fields; see `fit_gamma_poisson`.

    - `alpha`: shape; infinite for Poisson counts.
    - `beta0`: rate times size, alpha / `density`: `models.FieldStatistics(alpha, beta0)`.
    - `density`: mean number of fields per size.
    - `alpha_error`, `beta0_error`, `density_error`: standard errors, NaN where there is none.
    - `log_likelihood`: of the counts.
    """

    alpha: float
    beta0: float
    density: float
    alpha_error: float
    beta0_error: float
    density_error: float
    log_likelihood: float


def fit_gamma_poisson(counts: Any, size: Any = 1.0) -> GammaPoissonFit:
    """Maximum likelihood of gamma-Poisson numbers of fields, in environments of a known size.

        lambda ~ Gamma(alpha, rate beta0 / size),    k ~ Poisson(lambda)

    The likelihood is maximised over the density alpha / beta0 for each alpha, and then over alpha.
    Standard errors are those of the observed information. Where counts vary no more than Poisson
    ones alpha and beta0 are infinite, with a warning.

    ```python
    fields = detect_place_fields(maps)
    fit = fit_gamma_poisson([len(fields.of(cell)) for cell in range(len(maps.rates))], 1.2)
    ```

    **Arguments:**

    - `counts`: `(cell,)`, silent cells included; one entry for each cell and environment.
    - `size`: length or area, one for all or `(cell,)`.

    **Returns:** `GammaPoissonFit`.

    **Raises:** `ValueError` for fewer than two counts, ones that are negative or not whole, or
    sizes that are not positive.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, appendix A.1; Fisher (1953), Biometrics 9, 197-200.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln, xlogy

    k, s = read_known("fit_gamma_poisson", counts=counts, size=size)
    if k.ndim != 1 or len(k) < 2 or (k < 0).any() or (k != np.round(k)).any():
        raise ValueError(
            f"counts must be two or more whole numbers from 0 on, (cell,); got shape {k.shape}."
        )
    if s.shape not in ((), k.shape) or not (s > 0).all():
        raise ValueError(f"size must be positive, one for all or one for each count; got {size}.")
    s = np.broadcast_to(s, k.shape)
    constant = -gammaln(k + 1).sum()

    def log_likelihood(alpha: float) -> float:
        mean = _best_density(k, s, alpha) * s
        likely = gammaln(k + alpha) - gammaln(alpha) + xlogy(k, mean / (alpha + mean))
        return float((likely - alpha * np.log1p(mean / alpha)).sum() + constant)

    tried = np.linspace(-8, 14, 45)
    values = [log_likelihood(np.exp(a)) for a in tried] if k.any() else [-np.inf]
    density = float(k.sum() / s.sum())
    poisson = float((xlogy(k, density * s) - density * s).sum() + constant)
    # The slope in 1 / alpha where that is 0; with several sizes there may be a maximum elsewhere.
    falls = ((k - density * s) ** 2 - k).sum() <= 0
    if falls and max(values) <= poisson + 1e-6:
        why = "counts vary no more than Poisson ones" if k.any() else "no cell has a field"
        warnings.warn(f"{why}: alpha is infinite.", stacklevel=2)
        error = (density / s.sum()) ** 0.5 if density > 0 else np.nan
        return GammaPoissonFit(np.inf, np.inf, density, np.nan, np.nan, float(error), poisson)
    best = int(np.clip(np.argmax(values), 1, len(tried) - 2))
    found: Any = minimize_scalar(
        lambda a: -log_likelihood(np.exp(a)),
        bounds=(tried[best - 1], tried[best + 1]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    alpha = float(np.exp(found.x))
    density = _best_density(k, s, alpha)
    covariance = np.linalg.inv(_observed_information(k, s, alpha, density))
    slopes = np.array([1 / density, -alpha / density**2])
    of_alpha, of_beta0, of_density = (
        float(v) ** 0.5 if v > 0 else np.nan
        for v in (covariance[0, 0], slopes @ covariance @ slopes, covariance[1, 1])
    )
    return GammaPoissonFit(
        alpha, alpha / density, density, of_alpha, of_beta0, of_density, log_likelihood(alpha)
    )


def _best_density(k: np.ndarray, s: np.ndarray, alpha: float) -> float:
    """Root of sum (k - d s) / (alpha + d s), which falls with d."""
    from scipy.optimize import brentq

    if np.ptp(s) == 0:
        return float(k.mean() / s[0])
    ratios = k / s
    low, high = float(ratios.min()), float(ratios.max())
    if low == high:
        return low
    root: Any = brentq(lambda d: ((k - d * s) / (alpha + d * s)).sum(), low, high, xtol=1e-14)
    return float(root)


def _observed_information(k: np.ndarray, s: np.ndarray, alpha: float, density: float) -> np.ndarray:
    """Minus the second derivatives of the likelihood in alpha and the density."""
    from scipy.special import polygamma

    total = alpha + density * s
    ratio = (k + alpha) / total**2
    curved: Any = polygamma(1, k + alpha) - polygamma(1, alpha)
    of_alpha = curved + 1 / alpha - 2 / total + ratio
    mixed = s * (ratio - 1 / total)
    of_density = ratio * s**2 - k / density**2
    return -np.array([[of_alpha.sum(), mixed.sum()], [mixed.sum(), of_density.sum()]])
