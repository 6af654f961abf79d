"""How many dimensions activity fills: participation ratio and effective rank."""

import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..kernels import entropy_of_shares
from .activity import (
    Activity,
    ActivityLike,
    AnyArray,
    as_floating,
    in_range,
    is_traced,
    read_activity,
)


def participation_ratio(
    X: ActivityLike, *, bias_corrected: bool = False, n_effective: float | int | None = None
) -> float | jax.Array:
    """Dimension of activity as the participation ratio of its covariance eigenvalues.

    (sum l)^2 / sum l^2 = tr(C)^2 / tr(C^2): between 1 and the rank of the covariance C, and n for
    n equal eigenvalues. It is computed from the traces, at the cost of one product of the samples
    with themselves, so it is differentiable also where eigenvalues are equal.

    **Biased low** by finite samples: T independent samples of N independent neurons of one
    variance give about N n / (n + N + 1), n = T - 1, and not N (24.5 for N = T = 50). Without the
    correction, do not compare values between recordings that differ in their number of neurons or
    samples; subsample to the same size first. More neurons than samples bring a warning.

    With `bias_corrected`, both traces are replaced by estimates that are unbiased for independent
    Gaussian samples. Their ratio is nearly so, may exceed the number of neurons, and scatters
    where samples are few. Time points that are correlated count for fewer samples than there are:
    give their effective number, or average first.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`. All time
      points of all trials are samples; the mean of each neuron over them is subtracted.
    - `bias_corrected`: whether to correct for the number of samples.
    - `n_effective`: number of independent samples that `X` is worth, for the correction; by
      default the number it holds.

    **Returns:** a float; a JAX scalar for JAX input.

    **Raises:** `ValueError` for a bad layout, values that are not finite, fewer than two samples
    (three for the correction), activity that does not vary, an effective number of samples out of
    range, or samples too few to find a positive tr(C^2).

    **Reference:** Gao et al. (2017), A theory of multineuronal dimensionality, dynamics and
    measurement, bioRxiv 214262, Eq. 3; for the moments of a sample covariance, Srivastava (2005),
    Some tests concerning the covariance matrix in high dimensional data, J. Japan Statist. Soc.
    35, 251-272.
    """
    activity = read_activity(X)
    (centred, _), xp = _centred(activity), activity.xp
    n_samples, n_neurons = centred.shape
    if bias_corrected:
        n = _degrees_of_freedom(n_effective, n_samples)
    elif n_effective is not None:
        raise ValueError("n_effective is for the correction: pass bias_corrected=True with it.")
    else:
        _warn_of_few_samples(n_samples, n_neurons)
    gram = centred.T @ centred if n_neurons <= n_samples else centred @ centred.T
    squared_trace, trace_of_square = xp.trace(gram) ** 2, xp.sum(gram**2)
    if bias_corrected:
        # For a Wishart matrix of n degrees of freedom; common factors cancel in the ratio.
        squared_trace, trace_of_square = (
            (n + 1) * squared_trace - 2 * trace_of_square,
            n * trace_of_square - squared_trace,
        )
        if not is_traced(trace_of_square) and not trace_of_square > 0:
            raise ValueError(
                f"{n + 1} samples are too few for {n_neurons} neurons: the estimate of the squared "
                "eigenvalues' sum is not positive, so there is no corrected dimension."
            )
    ratio = squared_trace / trace_of_square
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


def effective_rank(
    X: ActivityLike, *, kind: str, normalize_rows: bool = False
) -> float | jax.Array:
    """Dimension of activity as the exponential of the entropy of its spectrum.

    exp(-sum p log p), where p is a spectrum divided by its sum: between 1 and the rank, and n for
    n equal values. Two spectra are in use and give different numbers, so the choice must be made:

    - `kind="singular"`: the singular values of the data matrix as it is, not centred (Roy and
      Vetterli).
    - `kind="covariance"`: the eigenvalues of the covariance (their squares, after centring); never
      below the participation ratio.

    Both are biased low by finite samples, as the participation ratio is; more neurons than
    samples bring a warning. There is no correction: compare with the values of shuffles
    (`dimension_of_shuffles`), or at equal sizes.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`. All time
      points of all trials are samples.
    - `kind`: which spectrum.
    - `normalize_rows`: scale every sample to length 1 first (after centring, where there is
      centring). Samples of length 0 have no direction: they are left out, with a warning.

    **Returns:** a float; a JAX scalar for JAX input.

    **Raises:** `ValueError` for another kind, a bad layout, values that are not finite, or
    activity that is all zero (`"singular"`) or does not vary (`"covariance"`).

    **Reference:** Roy and Vetterli (2007), The effective rank: a measure of effective
    dimensionality, EUSIPCO, Section 2; for the covariance of rows of length 1, Wei et al. (2024),
    Diff-eRank: a novel rank-based metric for evaluating large language models, NeurIPS.
    """
    if kind not in ("singular", "covariance"):
        raise ValueError(f"kind must be 'singular' or 'covariance', got {kind!r}.")
    activity = read_activity(X)
    if kind == "covariance":
        _warn_of_few_samples(*activity.samples.shape)
    entropy = _spectral_entropy(activity, kind, normalize_rows)
    return float(np.exp(entropy)) if activity.xp is np else jnp.exp(entropy)


def diff_erank(
    X_untrained: ActivityLike, X_trained: ActivityLike, *, normalize_rows: bool = True
) -> float | jax.Array:
    """By how much training has lowered the effective rank of representations.

    erank(untrained) - erank(trained), of the covariance of samples scaled to length 1. Several
    trials (sentences, sequences) each have a spectrum of their own here: their entropies are
    averaged before the exponential is taken.

    **Arguments:**

    - `X_untrained`, `X_trained`: what two networks make of the same input: `(samples, units)`, or
      `(trials, samples, units)` or a list of `(samples_i, units)`, at least two samples each.
    - `normalize_rows`: scale every centred sample to length 1, as published.

    **Returns:** a float, positive where training compresses; a JAX scalar for JAX input.

    **Raises:** `ValueError` for a bad layout, another number of trials or samples in one than in
    the other, values that are not finite, or a trial that does not vary.

    **Reference:** Wei et al. (2024), Diff-eRank: a novel rank-based metric for evaluating large
    language models, NeurIPS.
    """
    before = read_activity(X_untrained, name="X_untrained")
    after = read_activity(X_trained, name="X_trained")
    if before.lengths != after.lengths:
        raise ValueError(
            "X_untrained and X_trained must hold the same samples; got trials of lengths "
            f"{before.lengths} and {after.lengths}."
        )
    xp = jnp if jnp in (before.xp, after.xp) else np
    ranks = []
    for activity in (before, after):
        trials = [read_activity(trial) for trial in activity.trials(activity.samples)]
        entropies = [_spectral_entropy(trial, "covariance", normalize_rows) for trial in trials]
        ranks.append(xp.exp(xp.mean(xp.stack(entropies))))
    difference = ranks[0] - ranks[1]
    return float(difference) if xp is np else difference


def _spectral_entropy(activity: Activity, kind: str, normalize_rows: bool) -> Any:
    xp, samples = activity.xp, activity.samples
    if kind == "singular":
        if not is_traced(samples) and not (samples != 0).any():
            raise ValueError("X is zero everywhere: it has no rank.")
        rows, rounding = in_range(samples, xp)[0], 0.0
    else:
        rows, scale = _centred(activity)
        # What is left of a sample that equals the mean.
        rounding = 8 * xp.finfo(rows.dtype).eps * xp.max(xp.abs(samples)) / scale
    if normalize_rows:
        rows = _rows_of_length_one(rows, rounding, xp)
    spectrum = xp.linalg.svd(rows, compute_uv=False) ** (1 if kind == "singular" else 2)
    return entropy_of_shares(spectrum, xp)


def _rows_of_length_one(rows: AnyArray, rounding: Any, xp: Any) -> AnyArray:
    """Rows over their length; those of length 0 stay 0, which leaves them out of the spectrum."""
    squared = xp.sum(rows**2, axis=1)
    kept = squared > rounding**2 * rows.shape[1]
    if not is_traced(kept) and not kept.all():
        which = np.flatnonzero(~np.asarray(kept))
        warnings.warn(
            f"{len(which)} sample(s), the first {which[0]}, lie at the mean (or at 0) and have no "
            "direction: they are left out.",
            stacklevel=4,
        )
    return xp.where(kept, 1 / xp.sqrt(xp.where(kept, squared, 1)), 0)[:, None] * rows


def _degrees_of_freedom(n_effective: float | int | None, n_samples: int) -> float | int:
    if n_effective is None:
        n_effective = n_samples
    if not (math.isfinite(n_effective) and 2 < n_effective <= n_samples):
        raise ValueError(
            "the correction needs more than 2 independent samples, and no more than the "
            f"{n_samples} there are, got {n_effective}."
        )
    return n_effective - 1


def _warn_of_few_samples(n_samples: int, n_neurons: int) -> None:
    if n_neurons > n_samples:
        warnings.warn(
            f"{n_neurons} neurons but only {n_samples} samples: a dimension is biased low then. "
            "The last axis of X is neurons; if it should be time, swap the axes. Otherwise see "
            "participation_ratio(X, bias_corrected=True).",
            stacklevel=3,
        )


def _centred(activity: Activity) -> tuple[AnyArray, Any]:
    """Samples about the mean over their scale, on which no dimension depends; and the scale."""
    if len(activity.samples) < 2:
        raise ValueError("X holds one sample: a covariance needs at least two.")
    if not activity.varies:
        raise ValueError("X does not vary: every neuron is constant, so it has no dimension.")
    return activity.centred()[:2]


def _check_spectrum(l: Any) -> None:
    if is_traced(l):
        return
    values = np.asarray(l)
    if not np.isfinite(values).all() or (values < 0).any() or not (values > 0).any():
        raise ValueError(
            f"eigenvalues must be finite, not negative and not all zero, got {values}."
        )
