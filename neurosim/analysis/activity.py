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
ActivityLike: TypeAlias = AnyArray | Sequence[AnyArray | Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class Activity:
    """Activity read into samples, with what is needed to restore its layout.

    - `samples`: `(sample, neuron)`, NumPy float64, or JAX in its own precision, float32 at least.
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
        # Compared, not subtracted from the mean, which rounding moves off the value of a constant;
        # and in NumPy, since a comparison within someone's `jit` would be traced.
        samples = np.asarray(self.samples)
        return bool((samples != samples[0]).any())

    def centred(self) -> tuple[AnyArray, Any, AnyArray]:
        """Samples about the mean of each neuron, over their scale; the scale; the means."""
        # Scaled before the mean, whose sum may overflow, and after it, about an offset.
        scaled, first = in_range(self.samples, self.xp)
        mean = self.xp.mean(scaled, axis=0)
        centred, second = in_range(scaled - mean, self.xp)
        return centred, first * second, first * mean

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


def in_range(x: AnyArray, xp: Any) -> tuple[AnyArray, Any]:
    """Values divided by their scale, and the scale: powers of the former stay in range.

    The scale is the largest power of two that is no larger than the largest magnitude, so dividing
    by it rounds nothing; 1 where all values are 0. It is a constant to derivatives: what is
    computed must not depend on it.
    """
    values = jax.lax.stop_gradient(x) if xp is jnp else x
    largest = xp.max(xp.abs(values))
    mantissa, _ = xp.frexp(xp.where(largest > 0, largest, 1))
    scale = xp.where(largest > 0, largest / (2 * mantissa), xp.ones_like(largest))
    return x / scale, scale


def refuse_masked(x: Any, name: str) -> None:
    """Raise `ValueError` for a NumPy masked array with masked values, which NumPy would unmask."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(x)} masked value(s), which would "
            "be used as if they were data. Leave those out, or fill them with .filled(...)."
        )


def read_activity(X: ActivityLike, *, name: str = "X", axis_name: str = "neuron") -> Activity:
    """Check activity and read it into samples.

    NumPy input, and anything `numpy.asarray` takes, is computed in float64; JAX input stays JAX in
    its own precision, half precision (float16, bfloat16) in float32. Values are checked only where
    they are known, so not under `jit`.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)`, or a list of `(time_i, neurons)`; an
        array of such arrays, as a cell array loaded from MATLAB, counts as their list.
    - `name`: what to call it in an error.
    - `axis_name`: what to call one entry of the last axis in an error.

    **Returns:** an `Activity`.

    **Raises:** `ValueError` for another layout, no samples, masked values, or a value that is not
    finite; the latter with its place.
    """
    X = _trials_of_cells(X)
    if isinstance(X, (list, tuple)):
        blocks, layout = _read_list(X, name, axis_name), "list"
        xp = jnp if isinstance(blocks[0], jax.Array) else np
        lengths = tuple(block.shape[0] for block in blocks)
        samples = xp.concatenate(blocks)
    else:
        array = as_floating(X, name)
        if array.ndim not in (2, 3):
            raise ValueError(
                f"{name} must be {_layouts(axis_name)}; got an array of shape {array.shape}."
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


def _layouts(axis_name: str) -> str:
    return (
        f"(time, {axis_name}s), (trials, time, {axis_name}s), or a list with one array "
        f"(time_i, {axis_name}s) for each trial"
    )


def _trials_of_cells(X: Any) -> Any:
    """A list of the trials in an object array along one axis, what cell arrays are loaded as."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.size == max(X.shape, default=0):
        cells = list(X.ravel())
        if all(isinstance(cell, AnyArray) and cell.ndim == 2 for cell in cells):
            return cells
    return X


def as_floating(x: Any, name: str) -> AnyArray:
    """An array of real numbers: NumPy in float64, JAX in float32 or better; `ValueError` if not."""
    refuse_masked(x, name)
    try:
        array = x if isinstance(x, jax.Array) else np.asarray(x)
    except ValueError as error:
        raise ValueError(
            f"{name} is no array: its rows differ in length. Trials of unequal length go in as a "
            "list of arrays."
        ) from error
    if array.dtype == object:
        raise ValueError(
            f"{name} is an array of Python objects, of shape {array.shape}: convert numbers with "
            f"{name}.astype(float), and trials of unequal length, each an array, with list({name})."
        )
    real = (jnp.floating, jnp.integer, jnp.bool_)
    # JAX's own notion of a subtype, since bfloat16 is no number to NumPy.
    if not any(jnp.issubdtype(array.dtype, kind) for kind in real):
        raise ValueError(f"{name} must hold real numbers, got {array.dtype}.")
    if isinstance(array, jax.Array):
        if not jnp.issubdtype(array.dtype, jnp.floating):
            return array.astype(float)
        # There is no singular value decomposition in half precision.
        return array.astype(jnp.promote_types(array.dtype, jnp.float32))
    return array.astype(np.float64)


def _read_list(X: Sequence[Any], name: str, axis_name: str) -> list[AnyArray]:
    if len(X) == 0:
        raise ValueError(f"{name} is an empty list: at least one trial is needed.")
    blocks = [as_floating(x, f"{name}[{i}]") for i, x in enumerate(X)]
    for i, block in enumerate(blocks):
        if block.ndim != 2:
            raise ValueError(
                f"{name} must be {_layouts(axis_name)}; got a list whose entry {i} has shape "
                f"{block.shape}. If the list is one array, pass numpy.array({name})."
            )
        if block.shape[1] != blocks[0].shape[1]:
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
