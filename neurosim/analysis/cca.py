"""Canonical correlations: which directions of two populations vary together."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .grouped_folds import grouped_folds
from .numerical_rank import numerical_rank, refuse_dependent_units
from .paired_samples import PairedSamples, read_numpy_pair, shuffled_samples
from .resampling import as_generator, permutation_p_value


class CanonicalCorrelations(NamedTuple):
    """Pairs of directions and their correlations; see `cca`."""

    correlations: np.ndarray
    x_weights: np.ndarray
    y_weights: np.ndarray
    x_mean: np.ndarray
    y_mean: np.ndarray


class SVCCA(NamedTuple):
    """Canonical correlations of leading principal components; see `svcca`."""

    similarity: float
    correlations: np.ndarray
    n_components: tuple[int, int]


class CCAShuffleLevel(NamedTuple):
    """Canonical correlations by chance; see `cca_shuffle_level`."""

    mean: np.ndarray
    p_values: np.ndarray
    null: np.ndarray


class CrossValidatedCCA(NamedTuple):
    """Canonical correlations of held-out samples; see `cross_validated_cca`."""

    correlations: np.ndarray
    standard_error: np.ndarray
    folds: np.ndarray


class _Factors(NamedTuple):
    """Centred samples as `U diag(s) V^T`, with s over the regularised s, and the map to weights."""

    left: np.ndarray
    ratio: np.ndarray
    to_weights: np.ndarray
    mean: np.ndarray


def cca(
    X: ActivityLike, Y: ActivityLike, *, regularisation: float | int = 0.0
) -> CanonicalCorrelations:
    """Directions of two populations along which they correlate most, one pair after the other.

    Unchanged by any invertible linear map of either population. **Biased upwards**, strongly where
    samples are few: independent Gaussian activity of 10 and 10 units has a mean correlation of .19
    and a largest of .39 in 200 samples. Compare with `cca_shuffle_level`, or report
    `cross_validated_cca`.

    **Arguments:**

    - `X`, `Y`: `(sample, p)` and `(sample, q)`, `(trials, time, units)` or lists of
      `(time_i, units)`, of the same samples. The mean of each unit over them is subtracted.
    - `regularisation`: r from 0 to 1. Each covariance C is replaced by (1 - r) C + r m I, m the
      mean variance of the units: 0 is plain CCA, 1 takes the directions of largest covariance
      (partial least squares). Any value above 0 gives up the invariance to linear maps.

    **Returns:** `CanonicalCorrelations`, NumPy whatever is given, with k = min(p, q), or the
    rank of the samples where that is lower:

    - `correlations`: `(k,)`, of the pairs of variates `(X - x_mean) @ x_weights` and
      `(Y - y_mean) @ y_weights`; in decreasing order if not regularised.
    - `x_weights`, `y_weights`: `(p, k)` and `(q, k)`; variates have variance 1 if not
      regularised. The largest weight of each column of `x_weights` is positive.
    - `x_mean`, `y_mean`: `(p,)` and `(q,)`.

    **Raises:** `ValueError` for a bad layout, values that are not finite, samples that differ, a
    regularisation out of range, or units that are constant; without regularisation also for
    linearly dependent units, and for samples no more than max(p, q) + 1, with which all
    correlations are 1 whatever the data. `UserWarning` for samples no more than p + q, with which
    some are. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Hotelling (1936), Relations between two sets of variates, Biometrika 28,
    321-377; Vinod (1976), Canonical ridge and econometrics of joint production, Journal of
    Econometrics 4, 147-166, for the regularisation.
    """
    pair = read_numpy_pair(X, Y, what="canonical correlation analysis")
    return _solve(*_factors(pair, regularisation))


def svcca(X: ActivityLike, Y: ActivityLike, *, variance: float | int = 0.99) -> SVCCA:
    """Mean canonical correlation of the principal components that hold most of the variance.

    Unlike plain CCA it does not count directions of little variance. Biased upwards as that is.

    **Arguments:**

    - `X`, `Y`: as for `cca`.
    - `variance`: the share of variance to keep, above 0 and at most 1; the fewest components that
      reach it are kept.

    **Returns:** `SVCCA`: `similarity`, the mean of `correlations`, `(min of n_components,)`, and
    `n_components`, kept of `X` and of `Y`.

    **Raises:** as `cca`, about the components kept, or `variance` out of range.

    **Reference:** Raghu, Gilmer, Yosinski & Sohl-Dickstein (2017), SVCCA: singular vector
    canonical correlation analysis for deep learning dynamics and interpretability, NeurIPS.
    """
    if not 0 < variance <= 1:
        raise ValueError(f"variance must be above 0 and at most 1, got {variance}.")
    pair = read_numpy_pair(X, Y, what="canonical correlation analysis")
    kept = pair._replace(
        X=_leading_components(pair.X, variance, "X"), Y=_leading_components(pair.Y, variance, "Y")
    )
    correlations = _solve(*_factors(kept, 0.0)).correlations
    sizes = (kept.X.shape[1], kept.Y.shape[1])
    return SVCCA(float(correlations.mean()), correlations, sizes)


def cca_shuffle_level(
    X: ActivityLike,
    Y: ActivityLike,
    *,
    regularisation: float | int = 0.0,
    n_shuffles: int | np.integer = 200,
    random_state: int | np.integer | np.random.Generator = 0,
) -> CCAShuffleLevel:
    """Canonical correlations with the samples of one population in random order.

    Trials are shuffled whole; where there are none, single samples, see `shuffle_test`.

    **Arguments:**

    - `X`, `Y`, `regularisation`: as for `cca`. The trials must have one length.
    - `n_shuffles`, `random_state`: number of shuffles, and their seed or generator.

    **Returns:** `CCAShuffleLevel`: `mean`, `(k,)`, of the correlations over shuffles; `p_values`,
    `(k,)`, share of shuffles (the data counted among them) with an nth correlation at least as
    large as the nth of the data; `null`, `(n_shuffles, k)`.

    **Raises:** as `cca`; `ValueError` for trials of unequal length, or no shuffles.
    """
    n_shuffles = whole_number(n_shuffles, "n_shuffles", least=1)
    pair = read_numpy_pair(X, Y, what="canonical correlation analysis")
    x, y = _factors(pair, regularisation)
    rng = as_generator(random_state)
    observed = _solve(x, y).correlations
    null = np.empty((n_shuffles, len(observed)))
    for i in range(n_shuffles):
        order = shuffled_samples(pair.groups, rng)
        null[i] = _solve(x, y._replace(left=y.left[order])).correlations
    p_values = np.asarray(permutation_p_value(observed, null))
    return CCAShuffleLevel(null.mean(axis=0), p_values, null)


def cross_validated_cca(
    X: ActivityLike,
    Y: ActivityLike,
    *,
    regularisation: float | int = 0.0,
    n_folds: int | np.integer = 5,
    random_state: int | np.integer | np.random.Generator = 0,
) -> CrossValidatedCCA:
    """Correlations, in held-out samples, of pairs of directions found in the others.

    0 on average for independent populations, so values below 0 occur and are kept. Trials are
    held out whole; where there are none, single samples, and times next to one another then tell
    of each other: pass trials wherever there are any.

    **Arguments:**

    - `X`, `Y`, `regularisation`: as for `cca`.
    - `n_folds`: number of parts, each held out once.
    - `random_state`: seed or generator that deals trials to folds.

    **Returns:** `CrossValidatedCCA`: `correlations`, `(k,)`, the mean over folds;
    `standard_error`, `(k,)`, of that mean, folds taken as independent; `folds`, `(n_folds, k)`.

    **Raises:** as `cca`, about the samples fitted; `ValueError` for a number of folds that does
    not fit the trials, or held-out samples that are fewer than three or do not vary.
    """
    pair = read_numpy_pair(X, Y, what="canonical correlation analysis")
    folds = []
    for train, test in grouped_folds(pair.groups, n_folds=n_folds, random_state=random_state):
        if len(test) < 3:
            raise ValueError(
                f"a fold holds out {len(test)} sample(s), too few to correlate: at least 3 are "
                f"needed. Use fewer than n_folds = {n_folds}."
            )
        fit = _solve(*_factors(pair._replace(X=pair.X[train], Y=pair.Y[train]), regularisation))
        u = (pair.X[test] - fit.x_mean) @ fit.x_weights
        v = (pair.Y[test] - fit.y_mean) @ fit.y_weights
        folds.append(_column_correlations(u, v))
    values = np.array(folds)
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5
    return CrossValidatedCCA(values.mean(axis=0), error, values)


def _factors(pair: PairedSamples, r: float | int) -> tuple[_Factors, _Factors]:
    if not 0 <= r <= 1:
        raise ValueError(f"regularisation must lie between 0 and 1, got {r}.")
    n, p, q = len(pair.X), pair.X.shape[1], pair.Y.shape[1]
    certain = min(p, q, p + q - (n - 1))
    if r == 0 and certain > 0:
        found = f"{n} samples of {p} and {q} units (axes are (sample, unit))"
        if certain == min(p, q):
            raise ValueError(
                f"{found} are too few: all canonical correlations are 1 whatever the data, as "
                "always with samples <= units + 1. Keep fewer principal components, or regularise "
                "and report cross_validated_cca."
            )
        warnings.warn(
            f"{found} are few: {certain} of the canonical correlations are 1 whatever the data, "
            "as always with samples <= units of both together.",
            UserWarning,
            stacklevel=3,
        )
    if n < 3:
        raise ValueError(f"X and Y hold {n} sample(s): a correlation needs at least 3.")
    return _factor(pair.X, r, "X"), _factor(pair.Y, r, "Y")


def _factor(samples: np.ndarray, r: float | int, name: str) -> _Factors:
    constant = (samples == samples[0]).all(axis=0)
    if constant.any():
        raise ValueError(
            f"unit {int(np.argmax(constant))} of {name} is constant ({int(constant.sum())} of "
            f"{len(constant)} are): leave out such units."
        )
    mean = samples.mean(axis=0)
    centred = samples - mean
    # Without regularisation the unit of measurement of each column does not matter, and must not
    # decide which directions count as empty.
    unit = np.abs(centred).max(axis=0) if r == 0 else np.full(len(mean), np.abs(centred).max())
    centred /= unit
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    if r == 0:
        refuse_dependent_units(s, samples.shape, name)
    rank = numerical_rank(s, samples.shape).rank
    U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
    ridged = np.sqrt((1 - r) * s**2 + r * np.sum(s**2) / samples.shape[1])
    scale = (len(samples) - 1) ** 0.5 / unit[:, None]
    return _Factors(U, s / ridged, scale * Vt.T / ridged, mean)


def _solve(x: _Factors, y: _Factors) -> CanonicalCorrelations:
    A, _, Bt = np.linalg.svd(x.ratio[:, None] * (x.left.T @ y.left) * y.ratio)
    k = min(A.shape[0], Bt.shape[0])
    A, B = A[:, :k], Bt[:k].T
    x_weights, y_weights = x.to_weights @ A, y.to_weights @ B
    u, v = x.left @ (x.ratio[:, None] * A), y.left @ (y.ratio[:, None] * B)
    lengths = np.linalg.norm(u, axis=0) * np.linalg.norm(v, axis=0)
    correlations = np.clip(np.sum(u * v, axis=0) / lengths, -1, 1)
    pivot = np.argmax(np.abs(x_weights), axis=0)
    sign = np.sign(x_weights[pivot, np.arange(k)])
    return CanonicalCorrelations(correlations, sign * x_weights, sign * y_weights, x.mean, y.mean)


def _column_correlations(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    u, v = u - u.mean(axis=0), v - v.mean(axis=0)
    lengths = np.linalg.norm(u, axis=0) * np.linalg.norm(v, axis=0)
    if not (lengths > 0).all():
        raise ValueError("held-out samples do not vary: use fewer folds.")
    return np.sum(u * v, axis=0) / lengths


def _leading_components(samples: Any, variance: float | int, name: str) -> np.ndarray:
    centred = samples - samples.mean(axis=0)
    if (samples == samples[0]).all():
        raise ValueError(f"{name} does not vary: every unit is constant.")
    U, s, _ = np.linalg.svd(centred / np.abs(centred).max(), full_matrices=False)
    share = np.cumsum(s**2) / np.sum(s**2)
    # A share reached but for rounding is reached; directions that are rounding are not kept.
    kept = int(np.searchsorted(share, variance - 1e-12)) + 1
    kept = min(kept, numerical_rank(s, samples.shape).rank)
    return U[:, :kept] * s[:kept]
