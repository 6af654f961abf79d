"""How many dimensions activity fills: participation ratio and effective rank."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .activity import (
    Activity,
    ActivityLike,
    AnyArray,
    as_floating,
    in_range,
    is_traced,
    read_activity,
)


def participation_ratio(X: ActivityLike) -> float | jax.Array:
    """Dimension of activity as the participation ratio of its covariance eigenvalues.

    (sum l)^2 / sum l^2 = tr(C)^2 / tr(C^2): between 1 and the rank of the covariance C, and n for
    n equal eigenvalues. It is computed from the traces, at the cost of one product of the samples
    with themselves, so it is differentiable also where eigenvalues are equal.

    **Biased low** by finite samples: T independent samples of N independent neurons of one
    variance give about N n / (n + N + 1), n = T - 1, and not N (24.5 for N = T = 50). Time points
    that are correlated count for fewer samples still. Do not compare values between recordings
    that differ in their number of neurons or samples; subsample to the same size first.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`. All time
      points of all trials are samples; the mean of each neuron over them is subtracted.

    **Returns:** a float; a JAX scalar for JAX input.

    **Raises:** `ValueError` for a bad layout, values that are not finite, fewer than two samples,
    or activity that does not vary.

    **Reference:** Gao et al. (2017), A theory of multineuronal dimensionality, dynamics and
    measurement, bioRxiv 214262, Eq. 3.
    """
    activity = read_activity(X)
    centred, xp = _centred(activity), activity.xp
    n_samples, n_neurons = centred.shape
    gram = centred.T @ centred if n_neurons <= n_samples else centred @ centred.T
    ratio = xp.trace(gram) ** 2 / xp.sum(gram**2)
    return float(ratio) if xp is np else ratio


def participation_ratio_of_spectrum(
    eigenvalues: Float[np.ndarray, " n"] | Float[jax.Array, " n"],
) -> float | jax.Array:
    """Participation ratio (sum l)^2 / sum l^2 of given covariance eigenvalues.

    **Arguments:**

    - `eigenvalues`: `(n,)`, not negative, not all zero; for instance `PCA.explained_variance_`.

    **Returns:** a float; a JAX scalar for JAX input.

    **Raises:** `ValueError` for eigenvalues that are negative, not finite, or all zero.
    """
    l = as_floating(eigenvalues, "eigenvalues")
    xp = jnp if isinstance(l, jax.Array) else np
    _check_spectrum(l)
    l, _ = in_range(l, xp)
    ratio = xp.sum(l) ** 2 / xp.sum(l**2)
    return float(ratio) if xp is np else ratio


def effective_rank(X: ActivityLike, *, kind: str) -> float | jax.Array:
    """Dimension of activity as the exponential of the entropy of its spectrum.

    exp(-sum p log p), where p is a spectrum divided by its sum: between 1 and the rank, and n for
    n equal values. Two spectra are in use and give different numbers, so the choice must be made:

    - `kind="singular"`: the singular values of the data matrix as it is, not centred (Roy and
      Vetterli).
    - `kind="covariance"`: the eigenvalues of the covariance (their squares, after centring); never
      below the participation ratio.

    Both are biased low by finite samples, as the participation ratio is.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`. All time
      points of all trials are samples.

    **Returns:** a float; a JAX scalar for JAX input.

    **Raises:** `ValueError` for another kind, a bad layout, values that are not finite, or
    activity that is all zero (`"singular"`) or does not vary (`"covariance"`).

    **Reference:** Roy and Vetterli (2007), The effective rank: a measure of effective
    dimensionality, EUSIPCO, Section 2.
    """
    if kind not in ("singular", "covariance"):
        raise ValueError(f"kind must be 'singular' or 'covariance', got {kind!r}.")
    activity = read_activity(X)
    xp, samples = activity.xp, activity.samples
    if kind == "singular":
        if not is_traced(samples) and not (samples != 0).any():
            raise ValueError("X is zero everywhere: it has no rank.")
        spectrum = xp.linalg.svd(in_range(samples, xp)[0], compute_uv=False)
    else:
        spectrum = xp.linalg.svd(_centred(activity), compute_uv=False) ** 2
    p = spectrum / xp.sum(spectrum)
    # 0 log 0 is 0, and so is its derivative where the value is exactly 0.
    present = p > 0
    entropy = -xp.sum(xp.where(present, p * xp.log(xp.where(present, p, 1)), 0))
    return float(np.exp(entropy)) if xp is np else jnp.exp(entropy)


def _centred(activity: Activity) -> AnyArray:
    """Samples about the mean, scaled: the dimension does not depend on the scale."""
    if len(activity.samples) < 2:
        raise ValueError("X holds one sample: a covariance needs at least two.")
    if not activity.varies:
        raise ValueError("X does not vary: every neuron is constant, so it has no dimension.")
    return activity.centred()[0]


def _check_spectrum(l: Any) -> None:
    if is_traced(l):
        return
    values = np.asarray(l)
    if not np.isfinite(values).all() or (values < 0).any() or not (values > 0).any():
        raise ValueError(
            f"eigenvalues must be finite, not negative and not all zero, got {values}."
        )
