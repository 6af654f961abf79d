"""The layouts of recorded or simulated activity that every analysis accepts.

`(time, neurons)`, `(trials, time, neurons)`, or a list of `(time_i, neurons)` for trials of unequal
length. An analysis works on the samples, all time points one below the other, and hands its
result back in the layout it was given.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

AnyArray: TypeAlias = jax.Array | np.ndarray

#: What an analysis takes, and hands back.
ActivityLike: TypeAlias = AnyArray | Sequence[AnyArray]


@dataclasses.dataclass(frozen=True)
class Activity:
    """Activity read into samples, with what is needed to restore its layout.

    - `samples`: `(sample, neuron)`, NumPy float64, or JAX in its own precision.
    - `lengths`: number of time points of each trial, in the order of the samples.
    - `layout`: `"samples"`, `"trials"` or `"list"`.
    - `xp`: the module to compute with, `numpy` or `jax.numpy`.
    """

    samples: AnyArray
    lengths: tuple[int, ...]
    layout: str
    xp: Any

    @property
    def varies(self) -> bool:
        """Whether any neuron takes two values; taken for granted where values are not known."""
        if is_traced(self.samples):
            return True
        # Compared, not subtracted from the mean, which rounding moves off the value of a constant.
        return bool((self.samples != self.samples[0]).any())

    def restore(self, samples: AnyArray) -> AnyArray | list[AnyArray]:
        """Values by sample, `(sample, column)`, in the layout that was read."""
        if self.layout == "samples":
            return samples
        if self.layout == "trials":
            return samples.reshape(len(self.lengths), self.lengths[0], samples.shape[-1])
        return self.trials(samples)

    def trials(self, samples: AnyArray) -> list[AnyArray]:
        """Values by sample, `(sample, column)`, cut into trials `(time_i, column)`."""
        ends = np.cumsum(self.lengths)
        return [samples[end - n : end] for n, end in zip(self.lengths, ends, strict=True)]


def is_traced(x: Any) -> bool:
    """Whether the values of `x` are not known yet, under `jit`, `grad` or `vmap`."""
    return isinstance(x, jax.core.Tracer)


def read_activity(X: ActivityLike, *, name: str = "X", axis_name: str = "neuron") -> Activity:
    """Check activity and read it into samples.

    NumPy input, and anything `numpy.asarray` takes, is computed in float64; JAX input stays JAX in
    its own precision. Values are checked only where they are known, so not under `jit`.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)`, or a list of `(time_i, neurons)`.
    - `name`: what to call it in an error.
    - `axis_name`: what to call one entry of the last axis in an error.

    **Returns:** an `Activity`.

    **Raises:** `ValueError` for another layout, no samples, or a value that is not finite; the
    latter with its place.
    """
    if isinstance(X, (list, tuple)):
        blocks, layout = _read_list(X, name, axis_name), "list"
        xp = jnp if isinstance(blocks[0], jax.Array) else np
        lengths = tuple(block.shape[0] for block in blocks)
        samples = xp.concatenate(blocks)
    else:
        array = _as_floating(X, name)
        if array.ndim not in (2, 3):
            raise ValueError(
                f"{name} must have shape (time, {axis_name}s) or (trials, time, {axis_name}s), or "
                f"be a list of (time_i, {axis_name}s); got shape {array.shape}."
            )
        xp = jnp if isinstance(array, jax.Array) else np
        layout = "samples" if array.ndim == 2 else "trials"
        lengths = (array.shape[-2],) * (1 if array.ndim == 2 else array.shape[0])
        samples = array.reshape(math.prod(array.shape[:-1]), array.shape[-1])
    if samples.size == 0:
        raise ValueError(f"{name} is empty: {samples.shape[0]} samples of {samples.shape[1]}.")
    activity = Activity(samples, lengths, layout, xp)
    _check_finite(activity, name, axis_name)
    return activity


def _as_floating(x: Any, name: str) -> AnyArray:
    array = x if isinstance(x, jax.Array) else np.asarray(x)
    real = (jnp.floating, jnp.integer, jnp.bool_)
    # JAX's own notion of a subtype, since bfloat16 is no number to NumPy.
    if not any(jnp.issubdtype(array.dtype, kind) for kind in real):
        raise ValueError(f"{name} must hold real numbers, got {array.dtype}.")
    if isinstance(array, jax.Array):
        return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
    return array.astype(np.float64)


def _read_list(X: Sequence[Any], name: str, axis_name: str) -> list[AnyArray]:
    if len(X) == 0:
        raise ValueError(f"{name} is an empty list: at least one trial is needed.")
    blocks = [_as_floating(x, f"{name}[{i}]") for i, x in enumerate(X)]
    for i, block in enumerate(blocks):
        if block.ndim != 2 or block.shape[1] != blocks[0].shape[-1]:
            raise ValueError(
                f"every trial in the list {name} must have shape (time_i, {axis_name}s) with the "
                f"same {axis_name}s: trial 0 has shape {blocks[0].shape}, trial {i} {block.shape}."
            )
    if any(isinstance(block, jax.Array) for block in blocks):
        return [jnp.asarray(block) for block in blocks]
    return blocks


def _check_finite(activity: Activity, name: str, axis_name: str) -> None:
    if is_traced(activity.samples):
        return
    bad = np.argwhere(~np.isfinite(np.asarray(activity.samples)))
    if len(bad) == 0:
        return
    sample, column = (int(i) for i in bad[0])
    starts = np.cumsum((0, *activity.lengths))
    trial = int(np.searchsorted(starts, sample, side="right")) - 1
    time = sample - int(starts[trial])
    where = f"time {time}, {axis_name} {column}"
    if activity.layout != "samples":
        where = f"trial {trial}, {where}"
    value = float(np.asarray(activity.samples)[sample, column])
    raise ValueError(
        f"{name} holds {len(bad)} value(s) that are not finite, the first ({value}) at {where}. "
        "Leave such samples out, or fill them, before the analysis."
    )
