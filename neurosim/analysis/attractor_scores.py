"""Whether states at rest lie on a ring by an angle, or on a line by a value."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .activity import Activity, AnyArray, as_floating, is_traced, read_activity
from .circular_correlation import correlate_turns
from .estimator import refuse_traced
from .pca import principal_axes


class RingScore(NamedTuple):
    """How well states lie on a ring by an angle; see `ring_score`."""

    score: float | jax.Array
    correlation: float | jax.Array
    explained_variance_ratio: float | jax.Array
    state_angles: AnyArray


class LineScore(NamedTuple):
    """How well states lie on a line by a value; see `line_score`."""

    score: float
    correlation: float
    explained_variance_ratio: float
    projections: np.ndarray


def ring_score(states: Any, angles: Any) -> RingScore:
    """How well states, one a trial, lie on a ring in the order of an angle.

    The states are projected on the plane of their first two principal axes, and their angles about
    the mean state in that plane are correlated with the angles given, by the coefficient of Fisher
    and Lee. The score is near 1 for a ring (a round one: a flat ellipse scores less), near 0 for
    states that say nothing about the angle, and for a ring that the states go round more than once.
    It does not tell a ring that is closed from a dense row of points: see `ring_persistence`.

    ```python
    delay_end = run.states.x[:, -1]  # (trials, units)
    ring_score(delay_end, trials.info["theta1"]).score
    ```

    **Arguments:**

    - `states`: `(trials, units)`, for instance at the end of a delay; at least two units.
    - `angles`: `(trials,)`, in radians. They should cover the circle evenly, or else the mean state
      is not the centre of the ring.

    **Returns:** `RingScore`:

    - `score`: from 0 to 1, the magnitude of the correlation.
    - `correlation`: with its sign, which says which way round the ring goes in the plane, an
      arbitrary matter within one set of states.
    - `explained_variance_ratio`: share of the variance of the states in the plane.
    - `state_angles`: `(trials,)`, in the plane, in radians.

    NumPy for NumPy (float64); JAX for JAX, differentiable where the variances along the axes are
    distinct.

    **Raises:** `ValueError` for shapes that do not fit, fewer than four trials, values that are not
    finite, states or angles that do not vary, or a state at the centre, which has no angle.

    **Reference:** Fisher & Lee (1983), Biometrika 70, 327-332, for the correlation; Costacurta et
    al. (2024), section 5, for the ring.
    """
    activity, theta = _read(states, angles, "angles")
    if activity.samples.shape[1] < 2:
        raise ValueError("states must have at least two units to lie on a ring.")
    axes = principal_axes(activity.samples, n_components=2)
    # Over their scale, which angles do not depend on, so that squares are in range.
    plane = activity.centred()[0] @ axes.components.T
    xp = activity.xp
    if not is_traced(plane):
        length = np.linalg.norm(np.asarray(plane), axis=1)
        central = length <= 1e-6 * length.max()
        if central.any():
            raise ValueError(
                f"the state of trial {int(np.argmax(central))} lies at the centre of the plane of "
                "the first two principal axes, and so has no angle there."
            )
    state_angles = xp.arctan2(plane[:, 1], plane[:, 0])
    names = ("the angles of the states", "angles")
    correlation = correlate_turns([state_angles, xp.asarray(theta)], xp, names)
    ratio = xp.sum(axes.explained_variance_ratio)
    return RingScore(
        score=abs(correlation),
        correlation=correlation,
        explained_variance_ratio=float(ratio) if xp is np else ratio,
        state_angles=state_angles,
    )


def line_score(states: Any, values: Any) -> LineScore:
    """How well states, one a trial, lie on a line in the order of a value.

    The magnitude of Spearman's rank correlation between the projection on the first principal axis
    and the value: 1 for a line, straight or curved, along which the projection grows with the
    value, however unevenly. Equal ranks are averaged, and projections equal to rounding are equal.

    **Arguments:**

    - `states`: `(trials, units)`, for instance at the end of a trial.
    - `values`: `(trials,)`.

    **Returns:** `LineScore`, NumPy whatever is given, in float64:

    - `score`: from 0 to 1.
    - `correlation`: with its sign, which is that of the axis (see `principal_axes`).
    - `explained_variance_ratio`: share of the variance of the states along the axis.
    - `projections`: `(trials,)`, of the states on the axis, about their mean.

    **Raises:** `ValueError` for shapes that do not fit, fewer than four trials, values that are not
    finite, or states or values that do not vary; `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Spearman (1904), American Journal of Psychology 15, 72-101; Costacurta et al.
    (2024), section 6, for the line.
    """
    refuse_traced((states, values), "line_score")
    activity, value = _read(states, values, "values")
    samples, value = np.asarray(activity.samples, np.float64), np.asarray(value, np.float64)
    if (value == value[0]).all():
        raise ValueError(f"values do not vary: all are {value[0]:g}.")
    axes = principal_axes(samples, n_components=1)
    projections = (samples - axes.mean) @ axes.components[0]
    longest = np.abs(samples).max() * samples.shape[1] ** 0.5
    rounding = 8 * float(np.finfo(activity.samples.dtype).eps * longest)
    correlation = _pearson(_ranks(projections, rounding), _ranks(value, 0.0))
    return LineScore(
        score=abs(correlation),
        correlation=correlation,
        explained_variance_ratio=float(axes.explained_variance_ratio[0]),
        projections=projections,
    )


def _read(states: Any, values: Any, name: str) -> tuple[Activity, AnyArray]:
    array = as_floating(states, "states")
    if array.ndim != 2:
        raise ValueError(
            f"states must be (trials, units), one state of each trial, got shape {array.shape}."
        )
    per_trial = as_floating(values, name)
    if per_trial.shape != array.shape[:1]:
        raise ValueError(
            f"{name} must hold one number for each of the {len(array)} trials, got shape "
            f"{per_trial.shape}."
        )
    if len(array) < 4:
        raise ValueError(f"at least four trials are needed, got {len(array)}.")
    if not is_traced(per_trial) and not np.isfinite(np.asarray(per_trial)).all():
        raise ValueError(f"{name} must be finite.")
    either = isinstance(array, jax.Array) or isinstance(per_trial, jax.Array)
    xp = jnp if either else np
    activity = read_activity(xp.asarray(array), name="states", axis_name="unit")
    if not activity.varies:
        raise ValueError("states do not vary: they are the same in every trial.")
    return activity, xp.asarray(per_trial)


def _ranks(values: np.ndarray, tolerance: float) -> np.ndarray:
    """Ranks from 1 on, their mean where sorted values differ by no more than the tolerance."""
    order = np.argsort(values, kind="stable")
    new = np.diff(values[order], prepend=-np.inf) > tolerance
    group = np.empty(len(values), int)
    group[order] = np.cumsum(new) - 1
    size = np.bincount(group)
    return (np.cumsum(size) - (size - 1) / 2)[group]


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    dx, dy = x - x.mean(), y - y.mean()
    spread = np.sqrt(dx @ dx) * np.sqrt(dy @ dy)
    # Projections that are equal to rounding have no order to agree or disagree with.
    return float(np.clip(dx @ dy / spread, -1, 1)) if spread > 0 else 0.0
