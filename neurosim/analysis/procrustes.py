"""Procrustes distances: how far two populations are apart after the best rotation."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import safe_sqrt
from .activity import ActivityLike, AnyArray, in_range, is_traced
from .paired_samples import centred_samples, read_pair

_KINDS = ("angular", "euclidean", "rms", "disparity")


def procrustes_distance(
    X: ActivityLike, Y: ActivityLike, *, kind: str = "angular", centre: bool = True
) -> float | jax.Array:
    """Distance between two populations over the same samples, after the best rotation.

    The population with fewer units is padded with silent ones; rotations include reflections. The
    distance is computed from what the rotation leaves over, so that it is precise also where it is
    small. A pure function: on JAX input it can be jitted and differentiated once, in either mode;
    the derivative is 0 where the populations agree.

    - `"angular"`: theta = arccos(|X^T Y|_* / (|X| |Y|)), from 0 to pi / 2. Unchanged by the scale
        of either population, and a metric: the triangle inequality holds.
    - `"euclidean"`: the Frobenius norm of what is left over, sqrt(|X|^2 + |Y|^2 - 2 |X^T Y|_*), in
        units of activity. A metric, which grows with the root of the number of samples.
    - `"rms"`: the same over sqrt(samples): the root mean square distance of a sample.
    - `"disparity"`: sin(theta)^2, as of `scipy.spatial.procrustes`; no metric.

    Noise increases all of these: see `shape_distance_floor` for the distance between repeats of
    one population, and `cross_validated_shape_distance`.

    **Arguments:**

    - `X`, `Y`: `(sample, unit)`, `(trials, time, unit)` or a list of `(time_i, unit)`, of the same
      samples.
    - `kind`: how the distance is measured.
    - `centre`: whether the mean of each unit over samples is subtracted.

    **Returns:** a float; a JAX scalar where either input is JAX.

    **Raises:** `ValueError` for a bad layout, values that are not finite, samples that differ,
    another kind, or, where the kind knows no scale, activity that does not vary (that is zero,
    where it is not centred).

    **Reference:** Schönemann (1966), A generalized solution of the orthogonal Procrustes problem,
    Psychometrika 31, 1-10; Williams, Kunz, Kornblith & Linderman (2021), Generalized shape
    metrics on neural representations, NeurIPS.
    """
    check_kind(kind)
    first, second = read_pair(X, Y)
    xp = jnp if jnp in (first.xp, second.xp) else np
    read = [
        centred_samples(activity) if centre else in_range(activity.samples, activity.xp)
        for activity in (first, second)
    ]
    (A, a), (B, b) = ((xp.asarray(samples), scale) for samples, scale in read)
    if kind in ("angular", "disparity"):
        for samples, name in ((A, "X"), (B, "Y")):
            _check_not_zero(samples, name, centre)
        distance = distance_of_chord(squared_chord(_unit(A), _unit(B)), kind)
    else:
        # In the larger of both units, so that no square leaves the range.
        unit = xp.maximum(a, b)
        left = squared_chord(A * (a / unit), B * (b / unit))
        distance = _root(left / (len(A) if kind == "rms" else 1)) * unit
    return float(distance) if xp is np else distance


def check_kind(kind: Any) -> None:
    """`ValueError` for a kind of distance that there is not."""
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, _KINDS))}, got {kind!r}.")


def distance_of_chord(squared: Any, kind: str) -> Any:
    """Angle between arrays of norm 1 whose difference has this squared norm, or its sine squared.

    The chord is 2 sin(theta / 2), precise for small angles, where a cosine is not.
    """
    if kind == "disparity":
        return squared * (1 - squared / 4)
    half = _root(squared) / 2
    return 2 * (jnp.arcsin(half) if isinstance(half, jax.Array) else np.arcsin(min(half, 1)))


def squared_chord(A: Any, B: Any) -> Any:
    """What the best rotation of one `(sample, unit)` array onto another leaves over, squared.

    It is the sum of what remains in the directions that are matched, as many as the smaller
    population has, and of the rest of the larger.
    """
    A, B, U, V = best_rotation(A, B)
    C, D = A @ U, B @ V
    left = _squares(C - D) + _squares(A - C @ U.T) + _squares(B - D @ V.T)
    # What is rounding has no direction, and a root of it would give it a derivative of order 1.
    xp = jnp if isinstance(left, jax.Array) else np
    rounding = (16 * float(jnp.finfo(left.dtype).eps)) ** 2 * max(*A.shape, *B.shape)
    return xp.where(left > rounding * (_squares(A) + _squares(B)), left, 0)


def best_rotation(A: Any, B: Any) -> tuple[Any, Any, Any, Any]:
    """Orthonormal columns U and V for which `A @ U` and `B @ V` agree best, and `A` and `B`.

    These come back in no more than n coordinates, n the number of samples. U and V are constants
    to derivatives: at the best rotation a change of them changes the distance to second order.
    """
    xp = jnp if isinstance(A, jax.Array) else np
    stop = jax.lax.stop_gradient if xp is jnp else lambda x: x
    A, B = (
        x @ xp.linalg.qr(stop(x).T)[0] if x.shape[1] > x.shape[0] else x
        for x in (A, B)
    )  # fmt: skip
    U, _, Vt = xp.linalg.svd(stop(A.T @ B), full_matrices=False)
    return A, B, U, Vt.T


def _squares(x: Any) -> Any:
    return jnp.sum(x * x) if isinstance(x, jax.Array) else np.vdot(x, x)


def _root(x: Any) -> Any:
    return safe_sqrt(x) if isinstance(x, jax.Array) else np.sqrt(x)


def _unit(x: Any) -> Any:
    norm = _root(_squares(x))
    if isinstance(x, jax.Array):
        norm = jnp.where(norm > 0, norm, 1)
    return x / norm


def _check_not_zero(samples: AnyArray, name: str, centre: bool) -> None:
    if not is_traced(samples) and not (samples != 0).any():
        what = "does not vary: every unit is constant" if centre else "is zero everywhere"
        raise ValueError(f"{name} {what}, so there is no angle. The Euclidean kinds allow it.")
