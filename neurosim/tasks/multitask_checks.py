"""Fields of a multitask that do not fit together, refused when it is made."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, Literal

from neurosim.kernels import check_dt

from .multitask_rules import RULES
from .multitask_tables import TABLES
from .multitask_timing import (
    Timing,
    longest_trial,
    needed_steps,
    shortest_before_and_after_go,
)
from .multitask_trials import MaskWeights

_CHOICES = {
    "timing": tuple(TABLES),
    "encoding": ("sincos", "ring"),
    "rounding": ("refuse", "nearest"),
}
#: Far beyond any trial; a slip in the unit of dt should not fill the memory.
_MOST_STEPS = 1_000_000
_NOT_NEGATIVE = ("noise_std", "mask_response", "mask_fixation")


def check_values(values: dict[str, Any]) -> None:
    """Each field on its own, by name.

    **Raises:** `ValueError` for the first value that cannot be.
    """
    check_dt(values["dt"])
    for name, allowed in _CHOICES.items():
        if values[name] not in allowed:
            known = ", ".join(repr(value) for value in allowed)
            raise ValueError(f"{name} must be one of {known}, got {values[name]!r}.")
    for name in _NOT_NEGATIVE:
        if not (isfinite(values[name]) and values[name] >= 0):
            raise ValueError(f"{name} must be finite and not negative, got {values[name]}.")
    if not isfinite(values["fixation_target"]):
        raise ValueError(f"fixation_target must be finite, got {values['fixation_target']}.")
    tau = values["noise_tau"]
    if tau is not None and not (isfinite(tau) and tau > 0):
        raise ValueError(f"noise_tau must be positive and finite, got {tau}.")
    if values["n_ring"] < 2:
        raise ValueError(f"n_ring must be at least 2, got {values['n_ring']}.")


def check_names(
    tasks: Sequence[str], contexts: Sequence[str], timing: Literal["costacurta", "yang", "driscoll"]
) -> None:
    """Tasks and contexts, against each other and the timing table.

    **Raises:** `ValueError` for tasks that the table lacks, and tasks without a context.
    """
    there = [name for name, rule in RULES.items() if rule.phases in TABLES[timing].phases]
    for field, names in (("tasks", tasks), ("contexts", contexts)):
        absent = [name for name in names if name not in there]
        if absent:
            raise ValueError(
                f"{field} not available in timing {timing!r}: {', '.join(absent)}; available are "
                f"{', '.join(there)}."
            )
    missing = [name for name in tasks if name not in contexts]
    if missing:
        raise ValueError(f"contexts must include every task, and lack {', '.join(missing)}.")


def check_probabilities(probabilities: Sequence[float], n_tasks: int) -> None:
    """How often each task comes.

    **Raises:** `ValueError` for the wrong number of them, and for numbers that are no shares.
    """
    if len(probabilities) != n_tasks:
        raise ValueError(
            f"probabilities must be one for each of {n_tasks} tasks, got {len(probabilities)}."
        )
    if not all(isfinite(p) and p >= 0 for p in probabilities) or sum(probabilities) == 0:
        raise ValueError(
            f"probabilities must be finite, not negative and not all zero, got {probabilities}."
        )


def check_fits(timing: Timing, n_steps: int, dt: float) -> None:
    """The longest trial, or every phase of a rescaled one, against the time grid.

    **Raises:** `ValueError` that says the duration needed, or that the grid is beyond all reason.
    """
    if n_steps > _MOST_STEPS:
        raise ValueError(
            f"a trial would have {n_steps:,} steps of dt = {dt:g}; at most {_MOST_STEPS:,} are "
            "possible: a larger dt or a shorter duration is needed."
        )
    needed = needed_steps(timing) if timing.rescaled else longest_trial(timing)
    if n_steps < needed:
        raise ValueError(
            f"duration {n_steps * dt:g} is too short for these tasks: at least {needed * dt:g} "
            f"({needed} steps) is needed."
        )


def check_mask(
    weights: MaskWeights, tasks: Sequence[str], timing: Timing, n_steps: int, dt: float
) -> None:
    """What counts in the loss, against the least favourable trial of every task.

    **Raises:** `ValueError` where a response, or a whole trial, could have no step that counts.
    """
    for name, until, response in zip(tasks, *shortest_before_and_after_go(timing, n_steps)):
        if weights.response > 0 and weights.grace >= response:
            raise ValueError(
                f"mask_grace {weights.grace * dt:g} would leave no step of the response of {name} "
                f"to count: that can be as short as {response * dt:g}."
            )
        if weights.skip >= n_steps:
            raise ValueError(
                f"mask_skip {weights.skip * dt:g} is as long as a trial: no step before the go cue "
                "would count, so fixation would never be asked for."
            )
        if weights.response == 0 and weights.skip >= until:
            raise ValueError(
                f"mask_skip {weights.skip * dt:g} would leave no step of {name} to count, with "
                f"mask_response 0: its go cue can come after {until * dt:g}."
            )
