"""Trials from a neurogym environment: its own trials, padded to one length."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .constants import integer
from .task import Trials


def from_neurogym(
    env: Any,
    n_trials: int | np.integer,
    *,
    seed: int | np.integer,
    n_steps: int | np.integer | None = None,
    one_hot: bool | None = None,
) -> Trials:
    """Draw trials from an environment of neurogym, or one with the same interface.

    Only what neurogym calls a trial is used: what can be observed and what should be answered, step
    by step. Nothing acts in the environment, so rewards and what follows from actions are lost.
    The environment is seeded and reset, and left in its last trial; the same seed gives the same
    trials, unless the environment keeps something else, such as its place in a block.

    **Arguments:**

    - `env`: the name of a registered environment, such as `"ReadySetGo-v0"`, for which neurogym has
        to be installed; or an environment, wrapped or not. It needs `seed` and `new_trial`, after
        which the unwrapped one has `ob` and `gt`, both with time as their first axis; and
        `action_space` and `dt`. If there are any, it has the first step of each period in
        `start_ind` and the one after its last in `end_ind`, and what else there is to know in
        `trial`, a dictionary.
    - `n_trials`: number of trials.
    - `seed`: given to the environment.
    - `n_steps`: of the time grid; `None` for the longest of these trials.
    - `one_hot`: targets as one channel for each action, 1 for the right one and else 0; or, if
        `False`, the ground truth as it is. `None` is `True` where actions are discrete.

    **Returns:** the trials. After its end a trial is 0 in every array, the mask too.

    Entries of `info`, one a trial, times in the unit of `dt`:

    - `end_step`, `end_time`: where the trial ends and its padding begins.
    - for each period `..._start_step`, `..._end_step`, `..._start_time` and `..._end_time`; -1 in a
        trial without it.
    - every entry of `trial` that is a finite number, or an array of them, of one shape in all
        trials; under its name, or, where that is taken, with `trial_` before it.
    - `label`, `(trial, time)`, where the ground truth is one whole number a step: that number, and
        0 in the padding.

    **Raises:** `ValueError` if neurogym is needed and cannot be imported; for an environment
    without trials or without ground truth; for values that are not finite, or that are no actions;
    and for too few `n_steps`.
    """
    count, number = integer("n_trials")(n_trials), integer("seed")(seed)
    if count < 1:
        raise ValueError(f"n_trials must be at least 1, got {count}.")
    if isinstance(env, str):
        env = _make(env)
    source, seeded = _layer_with(env, "new_trial"), _layer_with(env, "seed")
    # Twice: what is chosen at a reset should depend on the seed, and what comes after on that only.
    seeded.seed(number)
    if hasattr(env, "reset"):
        env.reset()
        seeded.seed(number)
    drawn = [_draw(env, source) for _ in range(count)]

    lengths = np.array([len(trial.observed) for trial in drawn])
    grid = int(lengths.max()) if n_steps is None else integer("n_steps")(n_steps)
    if grid < lengths.max():
        raise ValueError(
            f"n_steps {grid} is too few: the longest of these trials has {lengths.max()}."
        )
    space, dt = _base(env).action_space, float(_base(env).dt)
    info: dict[str, Any] = {"end_step": lengths, "end_time": lengths * dt}
    wanted = [trial.wanted for trial in drawn]
    discrete = hasattr(space, "n")
    if all(w.shape[1] == 1 and np.issubdtype(w.dtype, np.integer) for w in wanted):
        info["label"] = _padded(wanted, grid)[..., 0]
    if one_hot or (one_hot is None and discrete):
        if not discrete or "label" not in info:
            raise ValueError("one_hot needs discrete actions, and their numbers as ground truth.")
        wanted = [_one_hot(w[:, 0], space) for w in wanted]
    inputs, targets = (_padded(rows, grid) for rows in ([t.observed for t in drawn], wanted))
    shown = (np.arange(grid) < lengths[:, None])[..., None]

    info |= _period_entries([trial.periods for trial in drawn], dt)
    parameters = _numbers_in_all([trial.parameters for trial in drawn])
    for name, values in parameters.items():
        taken = name in info or name == "label"
        info[f"trial_{name}" if taken else name] = values
    dtype = jnp.result_type(float)
    return Trials(
        jnp.asarray(inputs, dtype),
        jnp.asarray(targets, dtype),
        jnp.asarray(np.broadcast_to(shown, targets.shape), dtype),
        {name: jnp.asarray(values) for name, values in info.items()},
    )


class _Drawn(NamedTuple):
    """One trial: `(time, channel)` arrays, periods as pairs of steps, and parameters."""

    observed: np.ndarray
    wanted: np.ndarray
    periods: dict[str, tuple[int, int]]
    parameters: dict[str, Any]


def _make(name: str) -> Any:
    try:
        import neurogym  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ValueError(
            f"the environment {name!r} needs neurogym, which could not be imported ({error}). "
            "It is an extra: pip install 'neurosim-toolkit[neurogym]'."
        ) from error
    return neurogym.make(name)


def _base(env: Any) -> Any:
    return getattr(env, "unwrapped", env)


def _layer_with(env: Any, method: str) -> Any:
    """The outermost wrapper that has a method of its own; asking through others is deprecated."""
    layer = env
    while not hasattr(type(layer), method):
        layer = vars(layer).get("env")
        if layer is None:
            raise ValueError(
                f"env has no {method}(), as environments made of trials do: {type(_base(env))}."
            )
    return layer


def _draw(env: Any, source: Any) -> _Drawn:
    source.new_trial()
    # After each trial anew: a wrapper may have changed the environment it stands for.
    base = _base(env)
    arrays = {}
    for name, meaning in (("ob", "observations"), ("gt", "ground truth")):
        values = getattr(base, name, None)
        if values is None or np.ndim(values) == 0 or len(values) == 0:
            raise ValueError(f"env has no {meaning} in its trials: {type(base).__name__}.{name}.")
        values = np.asarray(values)
        if not np.all(np.isfinite(values)):
            raise ValueError(f"env has {meaning}, not all finite: {type(base).__name__}.{name}.")
        # A copy: environments may write the next trial where this one is.
        arrays[name] = values.reshape(len(values), -1).copy()
    if len(arrays["ob"]) != len(arrays["gt"]):
        raise ValueError(
            f"env has {len(arrays['ob'])} steps of observations and {len(arrays['gt'])} of ground "
            f"truth in one trial: {type(base).__name__}."
        )
    starts, ends = (getattr(base, name, None) or {} for name in ("start_ind", "end_ind"))
    periods = {name: (int(starts[name]), int(ends[name])) for name in starts if name in ends}
    return _Drawn(arrays["ob"], arrays["gt"], periods, dict(getattr(base, "trial", None) or {}))


def _padded(rows: Sequence[np.ndarray], n_steps: int) -> np.ndarray:
    """Arrays `(time, channel)` of unequal lengths as one, with zeros after their ends."""
    channels = sorted({row.shape[1] for row in rows})
    if len(channels) > 1:
        raise ValueError(f"env has trials of different numbers of channels: {channels}.")
    padded = np.zeros((len(rows), n_steps, channels[0]), np.result_type(*rows))
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return padded


def _one_hot(labels: np.ndarray, space: Any) -> np.ndarray:
    number, first = int(space.n), int(getattr(space, "start", 0))
    if labels.min() < first or labels.max() >= first + number:
        raise ValueError(
            f"env has ground truth from {labels.min()} to {labels.max()}, which is outside of its "
            f"actions, {first} to {first + number - 1}; one_hot=False takes it as it is."
        )
    return np.eye(number)[labels - first]


def _period_entries(
    periods: Sequence[dict[str, tuple[int, int]]], dt: float
) -> dict[str, np.ndarray]:
    entries = {}
    for name in dict.fromkeys(name for trial in periods for name in trial):
        for end, edge in enumerate(("start", "end")):
            steps = np.array([trial[name][end] if name in trial else -1 for trial in periods])
            entries[f"{name}_{edge}_step"] = steps
            entries[f"{name}_{edge}_time"] = np.where(steps < 0, -1.0, steps * dt)
    return entries


def _numbers_in_all(trials: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    entries = {}
    for name in trials[0]:
        if not isinstance(name, str) or not all(name in trial for trial in trials):
            continue
        values = [trial[name] for trial in trials]
        if any(isinstance(value, (str, bytes, dict)) or callable(value) for value in values):
            continue
        try:
            array = np.array(values)
        except ValueError:  # arrays of different shapes
            continue
        if array.dtype.kind in "biuf" and np.all(np.isfinite(array)):
            entries[name] = array
    return entries
