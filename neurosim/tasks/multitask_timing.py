"""When the events of cognitive tasks come: from the published durations to steps."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from neurosim.kernels import steps_in

from .multitask_draws import DrawTable, draw_table, pick
from .multitask_tables import ABSENT, Draw, Phases

#: The phases of a trial, in the order of `Phases`.
PHASES = ("before", "stimulus", "gap", "second", "wait", "response")
#: The events of a trial; the names of their entries in `info` begin with these.
EVENTS = ("stim1_on", "stim1_off", "stim2_on", "stim2_off", "go", "end")


class Timing(NamedTuple):
    """The timing of several tasks, a row each.

    - `draws`: one table for all durations, task by task, the phases in their order; in steps, or
        in parts of a trial where `rescaled`.
    - `rescaled`: whether the phases are stretched to fill the trial.
    - `least`, `most`: `(task, phase)`, the ends of what can be drawn.
    - `events`: `(task, event)`, the phase that ends when the event comes; one more than the last
        for events that never come.
    - `fixation_stays`: `(task,)`, see `Phases`.
    """

    draws: DrawTable
    rescaled: bool
    least: np.ndarray
    most: np.ndarray
    events: np.ndarray
    fixation_stays: np.ndarray


class Events(NamedTuple):
    """When the events of each trial come, `(batch, event)` in the order of `EVENTS`.

    - `steps`: the first step at or after the event; the number of steps where it never comes.
    - `times`: the event itself, in steps but not always a whole number of them.
    """

    steps: Int[Array, "batch event"]
    times: Float[Array, "batch event"]


def _in_steps(draw: Draw, dt: float, rounding: Literal["refuse", "nearest"], name: str) -> Draw:
    if draw.high is None:
        steps = (steps_in(value, dt, rounding=rounding, name=name) for value in draw.values)
        return Draw(tuple(float(n) for n in steps))
    # The ends of a range need not be on the grid: what is drawn from it is cut down to whole steps.
    low, high = (
        Fraction(repr(float(end))) / Fraction(repr(dt)) for end in (*draw.values, draw.high)
    )
    return Draw((float(low),), float(high))


def _ends(draw: Draw, *, whole: bool) -> tuple[float, float]:
    """The least and the most that can be drawn, cut down to whole numbers on request."""
    if draw.high is None:
        return min(draw.values), max(draw.values)
    low, high = draw.values[0], draw.high
    if not whole:
        return low, high
    return float(floor(low)), float(max(ceil(high) - 1, floor(low)))


def _event_phases(row: Phases) -> list[int]:
    """For each event the phase at whose end it comes, or `len(PHASES)` if it never does.

    An absent phase gives way to the one before it: the two end together, and the sums of floating
    point are not to be trusted with that.
    """

    def last(phase: str) -> int:
        there = PHASES[: PHASES.index(phase) + 1]
        return max(n for n, name in enumerate(there) if getattr(row, name) != ABSENT)

    never = len(PHASES)
    first_ends = never if row.stays_on and not row.two else last("stimulus")
    second_starts = last("before") if row.together else last("gap")
    second_ends = never if row.stays_on else last("second")
    if not row.two:
        second_starts = second_ends = never
    return [last("before"), first_ends, second_starts, second_ends, last("wait"), last("response")]


def build_timing(
    names: Sequence[str],
    phases: Sequence[Phases],
    *,
    rescaled: bool,
    dt: float,
    rounding: Literal["refuse", "nearest"],
) -> Timing:
    """The durations of several tasks as one table.

    **Arguments:**

    - `names`, `phases`: of the tasks.
    - `rescaled`: whether durations are parts of a trial, and not milliseconds.
    - `dt`, `rounding`: the step in milliseconds, and what becomes of durations between two steps.

    **Returns:** the table.

    **Raises:** `ValueError` for durations that are not whole steps, and for steps so long that a
    phase of a trial may have none.
    """
    draws, least, most = [], [], []
    for name, row in zip(names, phases):
        for phase in PHASES:
            draw = getattr(row, phase)
            absent = draw == ABSENT
            if not (rescaled or absent):
                draw = _in_steps(draw, dt, rounding, f"{phase!r} of {name}")
            low, high = _ends(draw, whole=not rescaled)
            if low < 1 and not (rescaled or absent):
                raise ValueError(
                    f"dt {dt:g} is too long: {phase!r} of {name} can be shorter than one step."
                )
            draws.append(draw)
            least.append(low)
            most.append(high)
    shape = (len(names), len(PHASES))
    return Timing(
        draw_table(draws), rescaled, np.reshape(least, shape), np.reshape(most, shape),
        events=np.array([_event_phases(row) for row in phases]),
        fixation_stays=np.array([row.fixation_stays for row in phases]),
    )  # fmt: skip


def longest_trial(timing: Timing) -> int:
    """Steps of the longest trial that can be drawn."""
    return int(timing.most.sum(axis=1).max())


def needed_steps(timing: Timing) -> int:
    """The fewest steps in which rescaled trials have one step or more in every phase."""
    others = timing.most.sum(axis=1, keepdims=True) - timing.most
    there = timing.most > 0
    steps = (timing.least + others)[there] / timing.least[there]
    # A hair's breadth for the rounding of sums such as 0.7 + 1.6.
    return ceil(steps.max() - 1e-9)


def shortest_before_and_after_go(timing: Timing, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps before the go cue, and after it, in the least favourable trial of each task."""
    until, response = timing.least[:, :-1].sum(axis=1), timing.least[:, -1]
    if not timing.rescaled:
        return until, response
    latest = timing.most[:, :-1].sum(axis=1)
    before = np.ceil(n_steps * until / (until + timing.most[:, -1]))
    return before, n_steps - np.ceil(n_steps * latest / (latest + response))


def draw_events(
    timing: Timing, task: Int[Array, " batch"], chance: Float[Array, "batch phase"], *, n_steps: int
) -> Events:
    """When the events of every trial come.

    **Arguments:**

    - `timing`: of all tasks.
    - `task`: of each trial, a row of `timing`.
    - `chance`: uniform on [0, 1), for each phase of each trial.
    - `n_steps`: of the time grid.

    **Returns:** the events.
    """
    rows = task[:, None] * len(PHASES) + jnp.arange(len(PHASES))
    durations = pick(timing.draws, rows, chance)
    if not timing.rescaled:
        # Rounding can make a draw the end of its range, which is not part of it.
        most = jnp.asarray(timing.most, chance.dtype)[task]
        durations = jnp.minimum(jnp.floor(durations), most)
    until = jnp.cumsum(durations, axis=1)
    if timing.rescaled:
        until = (until / until[:, -1:] * n_steps).at[:, -1].set(n_steps)
    until = jnp.pad(until, ((0, 0), (0, 1)), constant_values=n_steps)
    times = jnp.take_along_axis(until, jnp.asarray(timing.events)[task], axis=1)
    return Events(jnp.ceil(times).astype(int), times)
