"""Classic measures of normalization: contrast response, suppression by masks and surrounds."""

from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from .known_arrays import read_known
from .low_rank_factors import Numbers

# Steepness at which the search starts, and its range.
_STEEPNESS = (1.0, 2.0, 4.0)
_RANGE = (0.1, 20.0)


class ContrastResponse(NamedTuple):
    """A fitted contrast response; see `contrast_response`."""

    r_max: float
    c50: float
    exponent: float
    baseline: float
    r_squared: float
    predicted: np.ndarray


class SurroundSuppression(NamedTuple):
    """Measures of size tuning; see `surround_suppression`."""

    index: Any
    preferred_size: Any


def hyperbolic_ratio(
    contrasts: Numbers,
    *,
    r_max: float | int | np.number,
    c50: float | int | np.number,
    exponent: float | int | np.number,
    baseline: float | int | np.number = 0.0,
) -> Any:
    """The contrast response r_max c^n / (c50^n + c^n) + baseline, of Naka and Rushton.

    **Arguments:**

    - `contrasts`: `(...)`, not negative, in the unit of `c50`.
    - `r_max`, `baseline`: in the unit of the response. `c50`: contrast of half the rise, positive.
    - `exponent`: n, positive.

    **Returns:** `(...)`, NumPy; a number for a number.

    **Raises:** `ValueError` for contrasts that are negative, masked or not finite, or a `c50` or
    exponent that is not positive. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Naka & Rushton (1966), Journal of Physiology 185, 536-555; Albrecht & Hamilton
    (1982), Journal of Neurophysiology 48, 217-237.
    """
    (c,) = read_known("hyperbolic_ratio", contrasts=contrasts)
    _not_negative(c, "contrasts")
    for name, value in (("c50", c50), ("exponent", exponent)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}.")
    return _number(r_max * _rise(c, float(np.log(c50)), float(exponent)) + baseline)


def contrast_response(
    responses: Numbers, contrasts: Numbers, *, baseline: float | int | np.number | None = None
) -> ContrastResponse:
    """Fit the hyperbolic ratio r_max c^n / (c50^n + c^n) + baseline to responses by least squares.

    The normalization model with one drive is of this form: c50 is then its sigma, and for squared
    rates n is 2.

    **Arguments:**

    - `responses`: `(contrast,)`, a mean for each contrast.
    - `contrasts`: `(contrast,)`, not negative, in any order.
    - `baseline`: held at this value; fitted by default.

    **Returns:** `ContrastResponse`:

    - `r_max`: the rise from baseline to saturation, negative for responses that fall.
    - `c50`: contrast of half the rise, from a tenth of the smallest positive contrast to ten times
      the largest. At such a border, responses do not say where they saturate.
    - `exponent`: n, from 0.1 to 20.
    - `baseline`: response without contrast.
    - `r_squared`: share of the variance over contrasts that is explained.
    - `predicted`: `(contrast,)`, NumPy.

    **Raises:** `ValueError` for shapes that do not fit, values that are missing, masked or not
    finite, negative contrasts, fewer different contrasts than parameters, or responses that are all
    equal. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Naka & Rushton (1966), Journal of Physiology 185, 536-555; Albrecht & Hamilton
    (1982), Journal of Neurophysiology 48, 217-237.
    """
    r, c = read_known("contrast_response", responses=responses, contrasts=contrasts)
    if r.ndim != 1 or r.shape != c.shape:
        raise ValueError(
            f"responses and contrasts must both be (contrast,), got {r.shape} and {c.shape}."
        )
    _not_negative(c, "contrasts")
    if baseline is not None and not np.isfinite(baseline):
        raise ValueError(f"baseline must be finite, got {baseline}.")
    needed = 4 if baseline is None else 3
    if len(np.unique(c)) < needed:
        raise ValueError(
            f"{needed} parameters need as many different contrasts, got {len(np.unique(c))}."
        )
    spread = r.max() - r.min()
    if spread == 0:
        raise ValueError(f"responses are all {r[0]:g}: no contrast response can be fitted.")

    positive = c[c > 0]
    log_range = np.log(positive.min() / 10), np.log(positive.max() * 10)

    def linear(at: Any) -> tuple[np.ndarray, np.ndarray]:
        """The best rise and baseline for a c50 and a steepness, and what they leave."""
        columns = np.stack([_rise(c, at[0], np.exp(at[1])), np.ones_like(c)], axis=1)
        if baseline is None:
            best = np.linalg.lstsq(columns, r, rcond=None)[0]
        else:
            size = columns[:, 0] @ columns[:, 0]
            rise = columns[:, 0] @ (r - baseline) / size if size > 0 else 0.0
            best = np.array([rise, float(baseline)])
        return best, (columns @ best - r) / spread

    # Two parameters are left to be searched; the sum of squares may have more than one minimum.
    bounds = tuple(zip(log_range, np.log(_RANGE)))
    fits = [
        scipy.optimize.least_squares(
            lambda at: linear(at)[1], (start, np.log(n)), bounds=bounds, x_scale=(1, 0.3),
            ftol=1e-15, xtol=1e-15, gtol=1e-15,
        )
        for start in np.log(np.quantile(positive, (0.25, 0.5, 0.75)))
        for n in _STEEPNESS
    ]  # fmt: skip
    at = min(fits, key=lambda fit: fit.cost).x
    (rise, floor), residual = linear(at)
    return ContrastResponse(
        r_max=float(rise),
        c50=float(np.exp(at[0])),
        exponent=float(np.exp(at[1])),
        baseline=float(floor),
        r_squared=float(1 - np.sum(residual**2) / np.sum((r / spread - np.mean(r / spread)) ** 2)),
        predicted=residual * spread + r,
    )


def cross_orientation_suppression(alone: Numbers, with_mask: Numbers) -> Any:
    """By what share a mask takes away from the response to a stimulus: 1 - masked / alone.

    **Arguments:**

    - `alone`, `with_mask`: responses of any shapes that broadcast, `alone` positive.

    **Returns:** 0 for none, 1 for complete suppression, negative for facilitation; NumPy, a number
    for numbers.

    **Raises:** `ValueError` for values that are missing, masked or not finite, shapes that do not
    broadcast, or a response alone that is not positive. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Carandini & Heeger (2012), Normalization as a canonical neural computation,
    Nature Reviews Neuroscience 13, 51-62.
    """
    stimulus, masked = _read_together(
        "cross_orientation_suppression", alone=alone, with_mask=with_mask
    )
    if not (stimulus > 0).all():
        raise ValueError(f"alone must be positive, got {stimulus.min():g}.")
    return _number(1 - masked / stimulus)


def summation_index(a: Numbers, b: Numbers, both: Numbers) -> Any:
    """The response to two stimuli together over the sum of those to each: both / (a + b).

    **Arguments:**

    - `a`, `b`, `both`: responses of any shapes that broadcast, the sum of the first two positive.

    **Returns:** 1 for linear summation, 0.5 for averaging, above 1 for supralinear; NumPy, a number
    for numbers.

    **Raises:** `ValueError` for values that are missing, masked or not finite, shapes that do not
    broadcast, or a sum that is not positive. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Rubin, Van Hooser & Miller (2015), The stabilized supralinear network, Neuron 85,
    402-417.
    """
    first, second, together = _read_together("summation_index", a=a, b=b, both=both)
    total = first + second
    if not (total > 0).all():
        raise ValueError(f"a + b must be positive, got {total.min():g}.")
    return _number(together / total)


def surround_suppression(sizes: Numbers, responses: Numbers) -> SurroundSuppression:
    """How far the response to the largest stimulus is below that to the preferred one.

    **Arguments:**

    - `sizes`: `(size,)`, ascending.
    - `responses`: `(..., size)`, the largest positive.

    **Returns:** `SurroundSuppression`, NumPy, numbers for one curve:

    - `index`: `(...)`, 1 - (response to the largest size) / (largest response): 0 for none.
    - `preferred_size`: `(...)`, the first size that has the largest response.

    **Raises:** `ValueError` for shapes that do not fit, fewer than two sizes, sizes that do not
    ascend, values that are missing, masked or not finite, or a curve without positive response.
    `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Cavanaugh, Bair & Movshon (2002), Journal of Neurophysiology 88, 2530-2546.
    """
    x, r = read_known("surround_suppression", sizes=sizes, responses=responses)
    if x.ndim != 1 or len(x) < 2 or not (np.diff(x) > 0).all():
        raise ValueError(f"sizes must be (size,), two or more, ascending, got {x}.")
    if r.ndim == 0 or r.shape[-1] != len(x) or r.size == 0:
        raise ValueError(f"responses must be (..., size) with {len(x)} sizes, got {r.shape}.")
    largest = r.max(axis=-1)
    if not (largest > 0).all():
        raise ValueError(f"each curve needs a positive response, got {largest.min():g} at most.")
    return SurroundSuppression(
        index=_number(1 - r[..., -1] / largest), preferred_size=_number(x[r.argmax(axis=-1)])
    )


def _rise(c: np.ndarray, log_c50: Any, n: Any) -> Any:
    """c^n / (c50^n + c^n), by the logistic function of log contrast, whose powers stay in range."""
    with np.errstate(divide="ignore", over="ignore"):
        return 1 / (1 + np.exp(-n * (np.log(c) - log_c50)))


def _read_together(what: str, **given: Numbers) -> list[np.ndarray]:
    """Values that broadcast against one another."""
    arrays = read_known(what, **given)
    try:
        np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(given, arrays))
        raise ValueError(f"shapes do not broadcast: {shapes}.") from None
    return arrays


def _not_negative(x: np.ndarray, name: str) -> None:
    if (x < 0).any():
        raise ValueError(f"{name} must not be negative, got {x.min():g}.")


def _number(x: Any) -> Any:
    return x if np.ndim(x) else float(x)
