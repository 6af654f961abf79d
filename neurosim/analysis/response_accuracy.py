"""Whether the responses of a network with a fixation output are right, by trial and by task."""

import numbers
from math import pi
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

from .activity import AnyArray, as_floating, is_traced, refuse_masked
from .estimator import refuse_traced
from .task_metrics import circular_distance, decode_angle


class Accuracy(NamedTuple):
    """Share of correct trials with its interval; see `accuracy_by_label`."""

    accuracy: float
    low: float
    high: float
    n_correct: int
    n_trials: int


def decode_population_angle(rates: Any, preferred: Any) -> Any:
    """The angle that a ring of units stands for: the direction of their population vector.

    The sum over units of a vector at the preferred angle of each, as long as its rate.

    **Arguments:**

    - `rates`: `(..., units)`, of any scale; they may be negative.
    - `preferred`: `(units,)`, the preferred angle of each unit in radians.

    **Returns:** `(...)`, radians between -pi and pi; NaN where the vectors cancel to rounding, as
    those of a flat or silent population do, and where a rate is not finite. NumPy float64 for
    NumPy; JAX where either is JAX.

    **Raises:** `ValueError` for shapes that do not fit, no units, masked values, or preferred
    angles that are not finite.

    **Reference:** Georgopoulos, Schwartz & Kettner (1986), Neuronal population coding of movement
    direction, Science 233, 1416-1419; Yang et al. (2019), Nature Neuroscience 22, 297-306, for the
    ring of outputs.
    """
    r, theta = as_floating(rates, "rates"), as_floating(preferred, "preferred")
    if theta.ndim != 1 or theta.size == 0 or r.ndim == 0 or r.shape[-1] != len(theta):
        raise ValueError(
            f"rates (..., units) and preferred (units,) are needed, got {r.shape} and "
            f"{theta.shape}."
        )
    if not is_traced(theta) and not np.isfinite(np.asarray(theta)).all():
        raise ValueError("preferred must be finite.")
    xp = jnp if any(isinstance(x, jax.Array) for x in (r, theta)) else np
    r, theta = xp.asarray(r), xp.asarray(theta)
    finite = xp.all(xp.isfinite(r), axis=-1)
    r = xp.where(finite[..., None], r, 0)
    sine, cosine = r @ xp.sin(theta), r @ xp.cos(theta)
    # Sines and cosines are exact to rounding only: vectors shorter than that point nowhere.
    rounding = 8 * xp.finfo(r.dtype).eps * xp.sum(xp.abs(r), axis=-1)
    found = finite & (xp.abs(sine) + xp.abs(cosine) > rounding)
    return decode_angle(xp.where(found, sine, 0), xp.where(found, cosine, 0))


def responses_correct(
    fixation: Any,
    angle: Any,
    *,
    right_angle: Any,
    respond: Any,
    tolerance: float | int = pi / 10,
    fixation_threshold: float | int = 0.5,
) -> Any:
    """Whether each trial ends as it should: with the right response, or with none.

    Where a response is due it is correct if the fixation output is at most `fixation_threshold`
    and the angle within `tolerance` of the right one, the short way round the circle; so responses
    at random angles, fixation left, are correct in `tolerance / pi` of trials, a tenth by default.
    Where none is due, the fixation output must be above the threshold, and the angle is ignored.

    ```python
    end = trials.info["end_step"] - 1  # shorter trials are padded
    last = run.outputs[np.arange(len(end)), end]  # fixation, sine, cosine
    angle = decode_angle(last[:, 1], last[:, 2])
    right_angle, respond = trials.info["response_angle"], trials.info["respond"]
    correct = responses_correct(last[:, 0], angle, right_angle=right_angle, respond=respond)
    ```

    Where all trials are of one length the last step is `run.outputs[:, -1]`. Where the outputs are
    a ring of units in place of sine and cosine, the angle is
    `decode_population_angle(last[:, 1:], preferred)`.

    **Arguments:**

    - `fixation`: `(...)`, the fixation output, at the last time step of a trial for instance.
    - `angle`: `(...)`, the angle of the response in radians; NaN for none.
    - `right_angle`: `(...)` or one for all, in radians; NaN where no response is due.
    - `respond`: `(...)` or one for all, whether a response is due.
    - `tolerance`: in radians; pi / 10 is that of Driscoll et al., pi / 5 that of Yang et al.
    - `fixation_threshold`: in the units of the fixation output.

    **Returns:** booleans, `(...)`. An output that is NaN, and a response without a direction where
    one is due, is wrong. NumPy for NumPy; JAX where any is JAX.

    **Raises:** `ValueError` for shapes that do not fit, no trials, masked values, a right angle
    that is not finite where a response is due, a `respond` that is not true or false, or a
    tolerance that is not positive.

    **Reference:** Driscoll, Shenoy & Sussillo (2024), Nature Neuroscience 27, 1349-1363; Yang et
    al. (2019), Nature Neuroscience 22, 297-306.
    """
    if not 0 < tolerance < float("inf"):
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}.")
    if not np.isfinite(fixation_threshold):
        raise ValueError(f"fixation_threshold must be finite, got {fixation_threshold}.")
    given = {"fixation": fixation, "angle": angle, "right_angle": right_angle}
    arrays = {name: as_floating(value, name) for name, value in given.items()}
    arrays["respond"] = _booleans(respond, "respond")
    shape = arrays["fixation"].shape
    for name, array in arrays.items():
        if array.shape != shape and (name in ("fixation", "angle") or array.shape != ()):
            raise ValueError(f"{name} must have the shape of fixation, {shape}, got {array.shape}.")
    if arrays["fixation"].size == 0:
        raise ValueError("fixation is empty: at least one trial is needed.")
    xp = jnp if any(isinstance(array, jax.Array) for array in arrays.values()) else np
    fix, response, right, due = (xp.asarray(array) for array in arrays.values())
    if not is_traced(right) and not is_traced(due):
        unknown = np.asarray(due) & ~np.isfinite(np.asarray(right))
        if unknown.any():
            raise ValueError("right_angle must be finite wherever a response is due.")
    near = circular_distance(response, xp.where(due, right, 0)) < tolerance
    return xp.where(due, (fix <= fixation_threshold) & near, fix > fixation_threshold)


def accuracy_by_label(correct: Any, labels: Any, *, confidence: Any = 0.95) -> dict[Any, Accuracy]:
    """Share of correct trials for each label, a task or an interval, with Wilson's interval.

    ```python
    names = np.asarray(task.tasks)[trials.info["task"]]
    accuracy_by_label(correct, names)["memory_pro"].accuracy
    ```

    **Arguments:**

    - `correct`: `(trials,)`, booleans.
    - `labels`: `(trials,)`, numbers or strings, all of one kind.
    - `confidence`: of the interval, between 0 and 1.

    **Returns:** a dictionary from each label, in sorted order, to its `Accuracy`: `accuracy`, the
    ends `low` and `high` of the interval, `n_correct` and `n_trials`.

    **Raises:** `ValueError` for shapes that differ, no trials, labels that are masked, missing or
    of both kinds, values that are not true or false, or a confidence out of range; `TypeError`
    under `jit`, `grad` or `vmap`.

    **Reference:** Wilson (1927), Probable inference, the law of succession, and statistical
    inference, Journal of the American Statistical Association 22, 209-212.
    """
    if not isinstance(confidence, numbers.Real) or not 0 < float(confidence) < 1:
        raise ValueError(f"confidence must be a number between 0 and 1, got {confidence!r}.")
    refuse_traced((correct, labels), "accuracy_by_label")
    right = np.asarray(_booleans(correct, "correct"))
    refuse_masked(labels, "labels")
    label = np.asarray(labels)
    if right.ndim != 1 or right.shape != label.shape or right.size == 0:
        raise ValueError(
            f"correct and labels must both be (trials,), not empty, got {right.shape} and "
            f"{label.shape}."
        )
    if np.issubdtype(label.dtype, np.floating) and np.isnan(label).any():
        raise ValueError(f"labels is NaN for trial {int(np.argmax(np.isnan(label)))}.")
    if label.dtype.kind in "OSU":
        _check_one_kind(list(labels) if isinstance(labels, (list, tuple)) else label.tolist())
    z = float(ndtri((1 + float(confidence)) / 2))
    result = {}
    for each in np.unique(label):
        members = right[label == each]
        key = each.item() if isinstance(each, np.generic) else each
        result[key] = _wilson(int(members.sum()), len(members), z)
    return result


def _check_one_kind(labels: list[Any]) -> None:
    """Refuse labels that cannot be sorted, or of which NumPy would make strings."""
    missing = [each is None or bool(each != each) for each in labels]
    if any(missing):
        i = missing.index(True)
        raise ValueError(f"labels is missing for trial {i}: got {labels[i]}.")
    kinds = (str, bytes, (numbers.Real, np.bool_))
    if not any(all(isinstance(each, kind) for each in labels) for kind in kinds):
        found = sorted({type(each).__name__ for each in labels})
        raise ValueError(f"labels must be all numbers or all strings, got {' and '.join(found)}.")


def _wilson(k: int, n: int, z: float) -> Accuracy:
    p, weight = k / n, z * z / n
    centre = (p + weight / 2) / (1 + weight)
    half = z * (p * (1 - p) / n + weight / (4 * n)) ** 0.5 / (1 + weight)
    # Exact at the ends, where the interval begins or stops at the share itself.
    low = 0.0 if k == 0 else centre - half
    high = 1.0 if k == n else centre + half
    return Accuracy(accuracy=p, low=low, high=high, n_correct=k, n_trials=n)


def _booleans(values: Any, name: str) -> AnyArray:
    """An array of booleans, from booleans or from numbers that are 0 or 1."""
    array = as_floating(values, name)
    if not is_traced(array):
        known = np.asarray(array)
        if not ((known == 0) | (known == 1)).all():
            raise ValueError(f"{name} must be true or false in every trial.")
    # NumPy's comparison makes a scalar of an array without axes.
    return array != 0 if isinstance(array, jax.Array) else np.asarray(array != 0)
