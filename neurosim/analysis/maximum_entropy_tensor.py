"""Surrogate populations with the means and covariances of each axis, and no other structure."""

from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .resampling import as_generator
from .trial_arrays import refuse_traced


class MaximumEntropyTensor(NamedTuple):
    """A Gaussian distribution of arrays of three axes; see `maximum_entropy_tensor`.

    - `mean`: `(condition, time, unit)`.
    - `axes`: for each axis `(size, mode)`, orthonormal columns.
    - `variance`: `(mode, mode, mode)`, of the product of a mode of each axis.
    """

    mean: np.ndarray
    axes: tuple[np.ndarray, np.ndarray, np.ndarray]
    variance: np.ndarray

    def sample(self, random_state: Any) -> np.ndarray:
        """A surrogate, `(condition, time, unit)`, by a seed or a generator."""
        drawn = np.sqrt(self.variance)
        drawn = drawn * as_generator(random_state).normal(size=drawn.shape)
        return self.mean + _along_axes(drawn, self.axes)


def maximum_entropy_tensor(X: Any, *, tolerance: float = 1e-6) -> MaximumEntropyTensor:
    """The least structured distribution with the covariances of `X` over each of its axes.

    Of all distributions whose expected covariance over times, over units and over conditions is
    that of `X`, each summed over the two other axes, and whose mean is the sum of the effects of
    each axis, it has the greatest entropy. Surrogates are as smooth in time and as correlated
    between units as `X`; what they show is no evidence of anything beyond that.

    The distribution is Gaussian. It has independent products of the eigenvectors of the three
    covariances, of variances 1 / (a_i + b_j + c_k), with a, b and c such that the covariances are
    right; they are found by Newton's method on a convex function.

    **Arguments:**

    - `X`: `(condition, time, unit)`, averages over trials, each axis with two entries or more.
    - `tolerance`: largest relative error of an eigenvalue of a covariance.

    **Returns:** `MaximumEntropyTensor`, with `sample(random_state)`.

    **Raises:** `ValueError` for another layout, values that are not finite, or nothing left beyond
    the means; `RuntimeError` where the variances are not found to the tolerance.

    **Reference:** Elsayed & Cunningham (2017), Structure in neural population recordings: an
    expected byproduct of simpler phenomena?, Nature Neuroscience 20.
    """
    refuse_traced(X, "a distribution of surrogates")
    values = np.asarray(as_floating(X, "X"), np.float64)
    if values.ndim != 3 or min(values.shape) < 2 or not np.isfinite(values).all():
        raise ValueError(
            "X must be (condition, time, unit), finite, with two or more of each; got shape "
            f"{values.shape}."
        )
    mean = _sum_of_means(values)
    rest = values - mean
    if np.abs(rest).max() <= 1e-12 * np.abs(values).max():
        raise ValueError("X is the sum of the effects of its axes: no covariance is left.")
    axes, spectra = [], []
    for axis in range(3):
        flat = np.moveaxis(rest, axis, 0).reshape(rest.shape[axis], -1)
        eigenvalues, vectors = np.linalg.eigh(flat @ flat.T)
        kept = eigenvalues > 1e-10 * eigenvalues[-1]
        axes.append(vectors[:, kept][:, ::-1])
        spectra.append(eigenvalues[kept][::-1])
    variance = _variances([s / s.sum() for s in spectra], tolerance) * (rest**2).sum()
    return MaximumEntropyTensor(mean, (axes[0], axes[1], axes[2]), variance)


def _sum_of_means(values: np.ndarray) -> np.ndarray:
    grand = values.mean()
    mean = np.full(values.shape, grand)
    for axes in ((1, 2), (0, 2), (0, 1)):
        mean = mean + (values.mean(axis=axes, keepdims=True) - grand)
    return mean


def _along_axes(values: np.ndarray, axes: tuple[np.ndarray, ...]) -> np.ndarray:
    for axis, vectors in enumerate(axes):
        values = np.moveaxis(np.tensordot(vectors, values, axes=(1, axis)), 0, axis)
    return values


def _variances(spectra: list[np.ndarray], tolerance: float) -> np.ndarray:
    """Variances 1 / (a_i + b_j + c_k) whose sums over two axes are the spectra, each of sum 1.

    They minimise -sum log(a_i + b_j + c_k) + sum of a, b and c times the spectra.
    """
    sizes = [len(s) for s in spectra]
    wanted = np.concatenate(spectra)
    ends = np.cumsum(sizes)
    n = np.prod(sizes)

    def total(x: np.ndarray) -> np.ndarray:
        a, b, c = np.split(x, ends[:-1])
        return a[:, None, None] + b[:, None] + c

    def cost(x: np.ndarray) -> float:
        sums = total(x)
        return np.inf if sums.min() <= 0 else float(-np.log(sums).sum() + wanted @ x)

    # A third of what each axis would need by itself.
    x = np.concatenate([n / len(s) / (3 * s) for s in spectra])
    value = cost(x)
    for _ in range(500):
        d = 1 / total(x)
        gradient = wanted - _marginal_sums(d)
        if np.abs(gradient / wanted).max() < tolerance:
            return d
        step = _newton_step(d**2, gradient)
        slope, size = gradient @ step, 1.0
        while (found := cost(x + size * step)) > value + 0.1 * size * slope and size > 1e-12:
            size /= 2
        if size <= 1e-12:
            # As far as rounding lets the cost tell; a full step is still an improvement.
            size, found = 1.0, cost(x + step)
            if not np.isfinite(found):
                break
        x, value = x + size * step, found
    raise RuntimeError(
        f"the variances of surrogates were not found to {tolerance}: axes with nearly vanishing "
        "directions may be at fault; reduce the units to their principal components first."
    )


def _marginal_sums(d: np.ndarray) -> np.ndarray:
    return np.concatenate([d.sum(axis=(1, 2)), d.sum(axis=(0, 2)), d.sum(axis=(0, 1))])


def _newton_step(d2: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    diagonal = _marginal_sums(d2)
    H = np.diag(diagonal)
    first, second = d2.shape[0], d2.shape[0] + d2.shape[1]
    H[:first, first:second] = d2.sum(axis=2)
    H[:first, second:] = d2.sum(axis=1)
    H[first:second, second:] = d2.sum(axis=0)
    H = np.triu(H) + np.triu(H, 1).T
    # Scaled to a diagonal of 1. A constant moved from one axis to another changes nothing: two
    # directions without curvature, or slope.
    scale = 1 / np.sqrt(diagonal)
    return -scale * np.linalg.lstsq(scale[:, None] * H * scale, scale * gradient, rcond=1e-13)[0]
