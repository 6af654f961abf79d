"""Measure-Wait-Go: measure an interval, hold it, and produce it after a cue."""

from collections.abc import Sequence
from functools import partial
from math import isfinite
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, PRNGKeyArray

from neurosim.kernels import check_dt, steps_in

from .constants import constant, number_or_pair, numbers, optional, pair, rows
from .measure_wait_go_trials import Schedule, render_trials
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys

Row = tuple[float, ...]


class MeasureWaitGo(Task):
    r"""Measure the interval between two pulses, wait, and ramp for as long after a third.

    Input channels: measure, wait and go, each a pulse of height `amplitude`, at steps
    $t_m$, $t_w = t_m + I$ and $t_{go} = t_w + \mathrm{delay}$; and, on request, a tonic context.
    The one output follows $y^*(t) = -0.5 + \mathrm{clip}((t - t_{go})/I, 0, 1)$.

    The defaults are the grid of Costacurta et al.: four intervals, ten onsets, a fixed delay, no
    noise. `MeasureWaitGo.beiran` is the original with random delays, onsets and catch trials.
    Times are in the unit of `dt`, milliseconds by default.

    - `intervals`: the intervals I to draw from; or several rows of them, one row a context.
    - `onsets`: the times $t_m$ to draw from.
    - `delay`: from the wait cue to the go cue; or the two ends, both included, of a range of
        whole steps to draw from.
    - `duration`: of a trial.
    - `amplitude`, `pulse_width`: of the three pulses; a width of `None` is one step.
    - `ramp`: the output before and after the ramp.
    - `onset_jitter`: moves $t_m$ by a whole number of steps, up to this time either way.
    - `catch_prob`: the share of trials without a go cue, whose target stays at the start.
    - `blank_prob`: the share of trials without any cue, likewise.
    - `noise_std`: standard deviation of Gaussian noise on every input channel at every step.
        Noise in the network is not the task's: it is an argument of `simulate`.
    - `mask_pad`: `None` counts every step in the loss. A time p counts from p before the go cue
        until p after the longest ramp could end; catch and blank trials count throughout.
    - `context`: `None`, or `(low, high)` for a fourth, tonic channel. Its height goes linearly
        from `low` for the shortest interval to `high` for the longest; where `intervals` has
        rows, all intervals of a row share the height that belongs to the row's mean.
    - `rounding`: `"refuse"` times that are not whole steps, or take the `"nearest"`. The realised
        times are in `info`.

    Entries of `info`, one a trial: `measure_step`, `wait_step`, `go_step` and `interval_steps` in
    steps; `measure_time`, `wait_time`, `go_time`, `interval`, `delay` and `pulse_width` in the
    unit of `dt`; `catch` where no go cue was shown (`go_step` then says when it would have been)
    and `blank` where there was no cue at all; `context`, the height of that channel, where there
    is one.

    **Reference:** Costacurta, Bhandarkar, Zoltowski & Linderman (2024), section 4.2; Beiran,
    Meirhaeghe, Sohn, Jazayeri & Ostojic (2023), Neuron 111.
    """

    dt: float = constant(10.0, float)
    intervals: Row | tuple[Row, ...] = constant((120.0, 140.0, 160.0, 180.0), rows("intervals"))
    onsets: Row = constant(tuple(10.0 * step for step in range(10, 20)), numbers("onsets"))
    delay: float | tuple[float, float] = constant(150.0, number_or_pair("delay"))
    duration: float = constant(1100.0, float)
    amplitude: float = constant(10.0, float)
    pulse_width: float | None = constant(None, optional(float))
    ramp: tuple[float, float] = constant((-0.5, 0.5), pair("ramp"))
    onset_jitter: float = constant(0.0, float)
    catch_prob: float = constant(0.0, float)
    blank_prob: float = constant(0.0, float)
    noise_std: float = constant(0.0, float)
    mask_pad: float | None = constant(None, optional(float))
    context: tuple[float, float] | None = constant(None, optional(pair("context")))
    rounding: Literal["refuse", "nearest"] = constant("refuse")

    @classmethod
    def beiran(cls, **fields: Any) -> "MeasureWaitGo":
        """The original form: 10 s trials, 0.8 to 1.55 s, random delays, onsets and catch trials.

        Two rows of intervals and `context=(0.0, 0.1)` give its two temporal contexts; intervals
        beyond these need a longer `duration`. Its networks had recurrent noise besides, of
        standard deviation `0.1 sqrt(2 dt / tau)` in each step. Two conventions are those of this
        class: ranges include both of their ends, and the ramp ends exactly I after the go cue.

        **Arguments:** any field of the class, in place of the original's value.

        **Reference:** Beiran et al. (2023), Neuron 111, and its published code.
        """
        original = {
            "intervals": (800.0, 1050.0, 1300.0, 1550.0),
            "onsets": (1000.0,),
            "delay": (200.0, 2500.0),
            "duration": 10_000.0,
            "onset_jitter": 600.0,
            "catch_prob": 0.1,
            "blank_prob": 0.1,
            "mask_pad": 300.0,
        }
        return cls(**(original | fields))

    def __check_init__(self):
        check_dt(self.dt)
        if self.rounding not in ("refuse", "nearest"):
            raise ValueError(f"rounding must be 'refuse' or 'nearest', got {self.rounding!r}.")
        for name in ("amplitude", "noise_std"):
            if not isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be finite, got {getattr(self, name)}.")
        if self.noise_std < 0:
            raise ValueError(f"noise_std must not be negative, got {self.noise_std}.")
        for name in ("catch_prob", "blank_prob"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)}.")
        for name in ("ramp", "context"):
            levels = getattr(self, name)
            if not all(isfinite(level) for level in levels or ()):
                raise ValueError(f"{name} must be finite, got {levels}.")
        if not self.onsets:
            raise ValueError("onsets must hold at least one time, got none.")
        if self._pulse_steps < 1:
            raise ValueError(f"pulse_width must be at least one step, got {self.pulse_width}.")
        earliest, latest = (f(self._steps("onsets", self.onsets)) for f in (min, max))
        jitter = self._steps("onset_jitter", (self.onset_jitter,))[0]
        if jitter > earliest:
            raise ValueError(
                f"onset_jitter {self.onset_jitter:g} would move a measure cue before the trial: "
                f"the earliest of onsets is {min(self.onsets):g}."
            )
        if self.mask_pad is not None:
            self._steps("mask_pad", (self.mask_pad,))
        shortest_delay, longest_delay = self._delay_range
        if shortest_delay > longest_delay:
            raise ValueError(f"delay must go from low to high, got {self.delay}.")
        interval, _ = self._cells
        self._check_fits(latest + jitter, int(max(interval)), longest_delay)

    @property
    def n_inputs(self) -> int:
        """Three cues, and the context where there is one."""
        return 3 if self.context is None else 4

    @property
    def n_outputs(self) -> int:
        """One: the ramp."""
        return 1

    @property
    def n_steps(self) -> int:
        """Number of time steps in every trial."""
        return self._steps("duration", (self.duration,))[0]

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: interval, onset, delay, jitter and catch, each independently and uniformly.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        # With a key of its own, noise leaves the trials as they are without it.
        keys = jax.vmap(jax.random.split)(trial_keys(key, batch_size))
        intervals, contexts = (jnp.asarray(cell) for cell in self._cells)
        onsets = jnp.asarray(self._steps("onsets", self.onsets))
        jitter = self._steps("onset_jitter", (self.onset_jitter,))[0]
        low, high = self._delay_range

        # Both ends included: which cell, which onset, the jitter, the delay.
        lowest = jnp.array([0, 0, -jitter, low])
        highest = jnp.array([len(intervals) - 1, len(onsets) - 1, jitter, high])

        def draw(key):
            pick_key, chance_key = jax.random.split(key)
            cell, onset, shift, delay = jax.random.randint(pick_key, (4,), lowest, highest + 1)
            no_go, blank = jax.random.uniform(chance_key, (2,)) < jnp.array(
                [self.catch_prob, self.blank_prob]
            )
            return Schedule(
                onsets[onset] + shift, intervals[cell], delay, contexts[cell], no_go, blank
            )

        trials = self._render(jax.vmap(draw)(keys[:, 0]), longest=max(self._cells[0]))
        if self.noise_std == 0:
            return trials
        draw_noise = partial(jax.random.normal, shape=trials.inputs.shape[1:])
        noise = self.noise_std * jax.vmap(draw_noise)(keys[:, 1])
        return eqx.tree_at(lambda t: t.inputs, trials, trials.inputs + noise)

    def grid(self) -> Trials:
        """Every interval with every onset, once each, without jitter, catch trials or noise.

        Interval-major: the onset changes fastest. With several rows of intervals each interval of
        each row is crossed with each onset. A random delay is held at the middle of its range.
        """
        intervals, contexts = self._cells
        onsets = self._steps("onsets", self.onsets)
        return self._fixed(
            np.tile(onsets, len(intervals)),
            np.repeat(intervals, len(onsets)),
            np.repeat(contexts, len(onsets)),
        )

    def generalisation(
        self,
        intervals: Sequence[float | int] = tuple(20.0 * n for n in range(2, 14)),
        *,
        onset: float | int | None = None,
        context: float | int | None = None,
    ) -> Trials:
        """One trial for each interval, trained or not, without jitter, catch trials or noise.

        **Arguments:**

        - `intervals`: by default the published twelve: four shorter than the default training
            intervals, those four, and four longer.
        - `onset`: of all trials; by default the middle entry of `onsets`, 150 ms on the published
            grid.
        - `context`: height of the tonic channel. By default the line through the trained heights
            is followed, beyond them too; with rows of intervals it must be given.

        **Raises:** `ValueError` where a trial does not fit in `duration`.
        """
        steps = self._interval_steps(numbers("intervals")(intervals))
        if onset is None:
            onset = self.onsets[len(self.onsets) // 2]
        start = self._steps("onset", (float(onset),))[0]
        self._check_fits(start, max(steps), sum(self._delay_range) // 2)
        if self.context is None:
            if context is not None:
                raise ValueError("context was given to a task without a context channel.")
            heights = np.zeros(len(steps))
        elif context is not None:
            heights = np.full(len(steps), float(context))
        elif isinstance(self.intervals[0], tuple):
            raise ValueError("context must be given where intervals come in rows.")
        else:
            heights = self._heights(np.array(steps, dtype=float))
        return self._fixed(np.full(len(steps), start), np.array(steps), heights)

    def _steps(self, name: str, times: Sequence[float]) -> list[int]:
        return [steps_in(time, self.dt, rounding=self.rounding, name=name) for time in times]

    def _interval_steps(self, intervals: Sequence[float]) -> list[int]:
        if len(intervals) == 0:
            raise ValueError("intervals must hold at least one interval, got none.")
        for interval in intervals:
            if not interval > 0:
                raise ValueError(f"intervals must be positive, got {interval}.")
        steps = self._steps("intervals", intervals)
        if min(steps) < 1:
            raise ValueError(f"intervals must be at least one step, got {min(intervals):g}.")
        return steps

    @property
    def _pulse_steps(self) -> int:
        return 1 if self.pulse_width is None else self._steps("pulse_width", (self.pulse_width,))[0]

    @property
    def _delay_range(self) -> tuple[int, int]:
        ends = self.delay if isinstance(self.delay, tuple) else (self.delay, self.delay)
        low, high = self._steps("delay", ends)
        return low, high

    @property
    def _interval_rows(self) -> list[list[int]]:
        if not self.intervals:
            raise ValueError("intervals must hold at least one interval, got none.")
        return [
            self._interval_steps(row if isinstance(row, tuple) else (row,))
            for row in self.intervals
        ]

    def _heights(self, means: np.ndarray) -> np.ndarray:
        if self.context is None:
            return np.zeros(len(means))
        trained = [np.mean(row) for row in self._interval_rows]
        shortest, longest = min(trained), max(trained)
        low, high = self.context
        # A single interval, or rows of equal mean, have one context: the low one.
        return low + (high - low) * (means - shortest) / ((longest - shortest) or 1.0)

    @property
    def _cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Steps of every (row, interval) pair, and the height of the context in each."""
        by_row = self._interval_rows
        heights = self._heights(np.array([np.mean(row) for row in by_row]))
        return np.concatenate(by_row), np.repeat(heights, [len(row) for row in by_row])

    def _check_fits(self, onset: int, interval: int, delay: int) -> None:
        needed = onset + 2 * interval + delay + 1
        if self.n_steps < needed:
            raise ValueError(
                f"duration {self.duration:g} is too short for the ramp to end: at least "
                f"{needed * self.dt:g} ({needed} steps) is needed."
            )

    def _fixed(self, onset: np.ndarray, interval: np.ndarray, context: np.ndarray) -> Trials:
        delay = np.full_like(interval, sum(self._delay_range) // 2)
        never = np.zeros(len(interval), dtype=bool)
        arrays = (jnp.asarray(a) for a in (onset, interval, delay, context, never, never))
        return self._render(Schedule(*arrays), longest=max(interval))

    def _render(self, schedule: Schedule, *, longest: ArrayLike) -> Trials:
        pad = None if self.mask_pad is None else self._steps("mask_pad", (self.mask_pad,))[0]
        return render_trials(
            schedule,
            n_steps=self.n_steps,
            dt=self.dt,
            pulse_steps=self._pulse_steps,
            amplitude=self.amplitude,
            ramp=self.ramp,
            has_context=self.context is not None,
            mask_pad=pad,
            longest=longest,
        )
