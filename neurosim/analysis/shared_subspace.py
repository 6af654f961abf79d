"""Whether two sets of activity vary along the same directions."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import whole_number
from .activity import Activity, ActivityLike, read_activity
from .estimator import refuse_traced
from .numerical_rank import numerical_rank
from .pca import principal_axes
from .subspace_angles import principal_angles


class SharedSubspace(NamedTuple):
    """How alike the leading subspaces of two data sets are; see `shared_subspace`."""

    similarity: float
    angles: np.ndarray
    p_value: float
    null: np.ndarray


def alignment_index(
    X_ref: ActivityLike, X_other: ActivityLike, n_components: Any
) -> float | jax.Array:
    """Share of the variance of one data set that the leading axes of another capture.

    tr(V^T C V) / sum of the d largest eigenvalues of C, with V the first d principal axes of the
    reference and C the covariance of the other: 1 if these axes capture as much as the other's own
    d axes do, 0 if they capture nothing. Not symmetric; 1 for any reference if the other varies
    alike in all directions.

    **Arguments:**

    - `X_ref`, `X_other`: `(time, neurons)`, `(trials, time, neurons)` or a list of
      `(time_i, neurons)`, of the same neurons; the mean of each neuron over all samples is
      subtracted.
    - `n_components`: d, at most the samples and the neurons of the reference.

    **Returns:** a float from 0 to 1; a JAX scalar where either is JAX.

    **Raises:** `ValueError` for a bad layout, values that are not finite, fewer than two samples,
    activity that does not vary, different neurons, or a number of components out of range.

    **Reference:** Elsayed, Lara, Kaufman, Churchland & Cunningham (2016), Reorganization between
    preparatory and movement population responses in motor cortex, Nature Communications 7, 13239.
    """
    reference, other = read_activity(X_ref, name="X_ref"), read_activity(X_other, name="X_other")
    _check_same_neurons(reference.samples, other.samples, "X_ref", "X_other")
    if len(other.samples) < 2 or not other.varies:
        raise ValueError("X_other does not vary: it has no variance to capture.")
    xp = jnp if jnp in (reference.xp, other.xp) else np
    n_components = whole_number(n_components, "n_components", least=1)
    V = principal_axes(reference.samples, n_components=n_components).components
    centred, _, _ = other.centred()
    captured = xp.sum((centred @ V.T) ** 2)
    most = xp.sum(xp.linalg.svd(centred, compute_uv=False)[: len(V)] ** 2)
    # At most 1, but for rounding.
    index: Any = xp.minimum(captured / most, 1)
    return float(index) if xp is np else index


def shared_subspace(
    X: ActivityLike,
    Y: ActivityLike,
    n_components: Any,
    *,
    alternative: str = "greater",
    n_random: Any = 1000,
    seed: Any = 0,
) -> SharedSubspace:
    """Whether two data sets, two tasks for instance, vary along the same leading directions.

    The similarity is the mean squared cosine of the principal angles between the subspaces of
    their first principal axes. Any two subspaces of one population are somewhat alike, since its
    activity keeps to few dimensions. So chance is that of pairs of subspaces drawn at random from
    what both sets fill together: the span of n random combinations of the pooled principal axes,
    each weighted by its standard deviation. In the pooled covariance each set counts the same,
    whatever its variance and number of samples; differences between the means do not count.

    **Arguments:**

    - `X`, `Y`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`, of
      the same neurons.
    - `n_components`: n, number of axes, no more than either set has directions of variance.
    - `alternative`: `"greater"` to ask whether the subspaces are more alike than by chance,
      `"less"` whether they are less so.
    - `n_random`: number of random pairs.
    - `seed`: of the draws, a whole number from 0 on.

    **Returns:** `SharedSubspace`, NumPy whatever is given, in float64:

    - `similarity`: from 0, orthogonal, to 1, equal.
    - `angles`: `(n_components,)`, principal angles in radians, the smallest first.
    - `p_value`: share of random pairs, the observed one counted among them, that are at least as
      (un)like; no less than 1 / (n_random + 1).
    - `null`: `(n_random,)`, the similarities of the random pairs.

    **Raises:** `ValueError` for a bad layout, values that are not finite, activity that does not
    vary in `n_components` directions, different neurons, another alternative, no random pairs, or
    numbers that are not whole or out of range; `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Elsayed et al. (2016), Nature Communications 7, 13239, for the random subspaces.
    """
    if alternative not in ("greater", "less"):
        raise ValueError(f"alternative must be 'greater' or 'less', got {alternative!r}.")
    n_components = whole_number(n_components, "n_components", least=1)
    n_random = whole_number(n_random, "n_random", least=1)
    seed = whole_number(seed, "seed", least=0)
    refuse_traced((X, Y), "shared_subspace")
    sets = [
        read_activity(np.asarray(read_activity(activity, name=name).samples, np.float64))
        for name, activity in (("X", X), ("Y", Y))
    ]
    _check_same_neurons(sets[0].samples, sets[1].samples, "X", "Y")
    bases = [_leading_axes(each.samples, n_components, name) for name, each in zip("XY", sets)]
    angles = principal_angles(*bases)
    similarity = float(np.mean(np.cos(angles) ** 2))

    deviations = _pooled_deviations(sets)
    rng = np.random.default_rng(seed)
    null = np.empty(n_random)
    for i in range(len(null)):
        draws = rng.normal(size=(2, len(deviations), n_components))
        # In the basis of the pooled axes, since an angle does not depend on the basis.
        P, Q = np.linalg.qr(deviations[:, None] * draws)[0]
        null[i] = np.sum((P.T @ Q) ** 2) / n_components
    sign = 1 if alternative == "greater" else -1
    # Pairs equal but for rounding are as like as the observed one.
    as_extreme = int(np.sum(sign * (null - similarity) >= -1e-12))
    return SharedSubspace(similarity, np.asarray(angles), (1 + as_extreme) / (1 + len(null)), null)


def _check_same_neurons(X: Any, Y: Any, x_name: str, y_name: str) -> None:
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"{x_name} and {y_name} must have the same neurons, got {X.shape[1]} and {Y.shape[1]}."
        )


def _leading_axes(samples: Any, n_components: Any, name: str) -> np.ndarray:
    """The first principal axes in columns, all of which the samples vary along."""
    axes = principal_axes(samples, n_components=n_components)
    last = axes.explained_variance_ratio[-1] / axes.explained_variance_ratio[0]
    if last <= (max(samples.shape) * np.finfo(np.float64).eps) ** 2:
        raise ValueError(f"{name} varies in fewer than n_components = {n_components} directions.")
    return np.asarray(axes.components).T


def _pooled_deviations(sets: list[Activity]) -> np.ndarray:
    """Standard deviations along the principal axes of both sets, each of total variance 1."""
    parts = []
    for each in sets:
        centred, _, _ = each.centred()
        parts.append(centred / np.linalg.norm(centred))
    pooled = np.concatenate(parts)
    singular = np.linalg.svd(pooled, compute_uv=False)
    return singular[: numerical_rank(singular, pooled.shape).rank]
