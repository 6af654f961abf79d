"""What cognitive tasks show and what the right answer is: angles, strengths, matches."""

from collections.abc import Sequence
from math import pi, tau
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .multitask_draws import between, draw_table, pick
from .multitask_rules import Rule
from .multitask_tables import ABSENT, APART, NOT_MATCHING, Tables

#: What is left to chance in the stimuli of a trial, besides its times.
CHANCES: tuple[str, ...] = (
    "theta1", "theta2", "modality1", "modality2", "match",
    "mean1", "coherence1", "sign1", "mean2", "coherence2", "sign2",
    "imbalance1", "side1", "imbalance2", "side2",
)  # fmt: skip

Chances = dict[str, Float[Array, " batch"]]


class Stimuli(NamedTuple):
    """The stimuli of each trial and the answer to them.

    - `theta`: `(batch, stimulus)`, angles in radians from 0 to 2 pi.
    - `strength`: `(batch, stimulus, modality)`, 0 where nothing is shown.
    - `compared`: `(batch, stimulus)`, the strengths that decide, summed over what counts.
    - `category`: `(batch, stimulus)`, 0 below pi and 1 from there on.
    - `match`: `(batch,)`, whether the two agree in what this task compares.
    - `respond`, `angle`: `(batch,)`, whether a response is due, and where to.
    """

    theta: Float[Array, "batch stimulus"]
    strength: Float[Array, "batch stimulus modality"]
    compared: Float[Array, "batch stimulus"]
    category: Int[Array, "batch stimulus"]
    match: Bool[Array, " batch"]
    respond: Bool[Array, " batch"]
    angle: Float[Array, " batch"]


def draw_stimuli(
    rules: Sequence[Rule],
    tables: Tables,
    task: Int[Array, " batch"],
    chance: Chances,
    theta1: Float[Array, " batch"] | None = None,
) -> Stimuli:
    """The stimuli of every trial.

    **Arguments:**

    - `rules`: of the tasks.
    - `tables`: the published numbers.
    - `task`: of each trial, an index into `rules`.
    - `chance`: uniform on [0, 1), for each of `CHANCES`.
    - `theta1`: the first angles, where they are given.

    **Returns:** the stimuli.
    """

    def of_task(values: Sequence[Any]) -> Array:
        return jnp.asarray(np.array(values))[task]

    decision, wants_match, opposite = (
        of_task([rule.answer == answer for rule in rules])
        for answer in ("stronger", "match", "opposite")
    )
    matching = of_task([rule.answer in ("match", "non_match") for rule in rules])
    by_category = of_task([rule.category for rule in rules])
    two = decision | matching

    # Angles, and whether they match.
    categories, only_row = draw_table([tables.categories]), jnp.zeros_like(task)
    if theta1 is None:
        category_angle = pick(categories, only_row, chance["theta1"])
        theta1 = jnp.where(by_category, category_angle, tau * chance["theta1"])
    same = chance["match"] < 0.5
    apart = jnp.where(
        matching,
        jnp.where(same, 0, between(*NOT_MATCHING, chance["theta2"])),
        between(*APART, chance["theta2"]),
    )
    category_angle = pick(categories, only_row, chance["theta2"])
    theta2 = jnp.where(by_category, category_angle, jnp.mod(theta1 + apart, tau))
    theta2 = jnp.where(two, theta2, 0)
    theta = jnp.stack([theta1, theta2], axis=-1)
    category = (theta >= pi).astype(int)
    match = matching & jnp.where(by_category, category[:, 0] == category[:, 1], same)

    # Strengths: of decisions, and of stimuli that are only shown.
    strength = jnp.where(
        decision[:, None, None],
        _strengths_to_compare(rules, tables, task, chance) * of_task(_shown(rules))[:, None, :],
        _plain_strengths(tables, chance, matching),
    )
    compared = jnp.sum(strength * of_task(_weights(rules))[:, None, :], axis=-1)

    # The answer.
    respond = ~matching | (match == wants_match)
    stronger = jnp.where(compared[:, 0] > compared[:, 1], theta1, theta2)
    angle = jnp.where(opposite, jnp.mod(theta1 + pi, tau), theta1)
    angle = jnp.where(decision, stronger, jnp.where(matching, theta2, angle))
    angle = jnp.where(respond, angle, 0)
    return Stimuli(theta, strength, compared, category, match, respond, angle)


def _shown(rules: Sequence[Rule]) -> list[tuple[bool, bool]]:
    return [rule.shown or (True, True) for rule in rules]


def _weights(rules: Sequence[Rule]) -> list[tuple[int, int]]:
    return [rule.compared or (1, 1) for rule in rules]


def _signed(chance: Array) -> Array:
    return jnp.where(chance < 0.5, 1, -1)


def _strengths_to_compare(
    rules: Sequence[Rule], tables: Tables, task: Int[Array, " batch"], chance: Chances
) -> Float[Array, "batch stimulus modality"]:
    """Mean ± coherence in each modality on its own; or one pair, split between the modalities."""
    coherences = draw_table([tables.coherence.get(rule.phases, ABSENT) for rule in rules])
    means, imbalances = draw_table([tables.mean]), draw_table([tables.imbalance])
    only_row = jnp.zeros_like(task)

    def pair(n: int) -> Array:
        mean = pick(means, only_row, chance[f"mean{n}"])
        coherence = pick(coherences, task, chance[f"coherence{n}"]) * _signed(chance[f"sign{n}"])
        return jnp.stack([mean + coherence, mean - coherence], axis=-1)

    def tilt(n: int) -> Array:
        half = pick(imbalances, only_row, chance[f"imbalance{n}"]) / 2 * _signed(chance[f"side{n}"])
        return jnp.stack([1 + half, 1 - half], axis=-1)

    first, second = pair(1), pair(2)
    split = first[:, :, None] * jnp.stack([tilt(1), tilt(2)], axis=1)
    together = jnp.asarray([rule.compared == (1, 1) for rule in rules])[task]
    return jnp.where(together[:, None, None], split, jnp.stack([first, second], axis=-1))


def _plain_strengths(
    tables: Tables, chance: Chances, matching: Bool[Array, " batch"]
) -> Float[Array, "batch stimulus modality"]:
    """1 in one modality, drawn for each stimulus; the second only where there are two."""
    in_second = jnp.stack([chance["modality1"], chance["modality2"]], axis=-1) >= 0.5
    in_second = in_second & tables.either_modality
    there = jnp.stack([jnp.ones_like(matching), matching], axis=-1)
    strength = jnp.stack([~in_second, in_second], axis=-1) & there[..., None]
    return strength.astype(chance["modality1"].dtype)
