"""Targets of reaches: where they are, and how those beyond the arm are drawn again."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.two_joint_arm import START_ANGLES, TwoJointArm, hand_position, reachable

_Range = tuple[float, float]


def central_spot() -> Float[Array, " 2"]:
    """Where the hand is at the start of a trial, in m from the shoulder."""
    return hand_position(jnp.array(START_ANGLES))


def target_position(angle: Array, radius: Any) -> Float[Array, "*batch 2"]:
    """The place at a distance of the central spot, in a direction in radians."""
    direction = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    return central_spot() + jnp.asarray(radius)[..., None] * direction


def draw_target(key: PRNGKeyArray, *, angles: _Range, radii: _Range) -> tuple[Array, Array]:
    """Angle and radius of one target, uniform in their ranges, drawn until it is within reach.

    **Arguments:**

    - `key`: of the target.
    - `angles`: lowest and highest direction, in degrees.
    - `radii`: shortest and longest distance from the central spot, in m.

    **Returns:** the angle in radians, and the radius.
    """
    low = jnp.array([np.deg2rad(angles[0]), radii[0]])
    high = jnp.array([np.deg2rad(angles[1]), radii[1]])

    def draw(tried):
        return jax.random.uniform(jax.random.fold_in(key, tried), (2,), minval=low, maxval=high)

    def beyond(carry):
        _, (angle, radius) = carry
        return ~reachable(target_position(angle, radius))

    def again(carry):
        tried, _ = carry
        return tried + 1, draw(tried + 1)

    _, (angle, radius) = jax.lax.while_loop(beyond, again, (0, draw(0)))
    return angle, radius


def share_within_reach(angles: _Range, radii: _Range) -> float:
    """The share of a range of targets that the arm reaches, from a grid of 201 by 201 of them."""
    angle, radius = np.meshgrid(
        np.deg2rad(np.linspace(*angles, 201)), np.linspace(*radii, 201), indexing="ij"
    )
    # In NumPy: a task is made where JAX may be tracing.
    (l1, l2), (shoulder, elbow) = TwoJointArm().lengths, START_ANGLES
    x = l1 * np.cos(shoulder) + l2 * np.cos(shoulder + elbow) + radius * np.cos(angle)
    y = l1 * np.sin(shoulder) + l2 * np.sin(shoulder + elbow) + radius * np.sin(angle)
    distance = np.hypot(x, y)
    return float(np.mean((distance <= l1 + l2) & (distance >= abs(l1 - l2))))
