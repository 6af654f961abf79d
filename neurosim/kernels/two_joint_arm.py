"""A planar arm with a shoulder and an elbow: where its hand is, and how torques move it.

    M(theta) theta'' + c(theta, theta') + B theta' = torque

Angles are in radians, the elbow's counted from the upper arm; the arm moves in a horizontal plane,
so there is no gravity. Arrays have the two joints, or the two coordinates of the hand, as their
last axis, and any axes before it. Cost: some twenty multiplications and four sines a pose.
"""

from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .safe_math import safe_sqrt


class TwoJointArm(NamedTuple):
    """The constants of an arm; the defaults are those of the study of human reaching.

    - `lengths`: of upper arm and forearm, in m.
    - `inertias`: their moments of inertia, in kg m^2.
    - `masses`: in kg.
    - `centres`: distances of the centres of mass from the joints, in m.
    - `friction`: of the joints, `B`, in kg m^2 / s.

    **Reference:** Li & Todorov (2004), ICINCO; Todorov & Li (2005), American Control Conference.
    """

    lengths: tuple[float, float] = (0.3, 0.3)
    inertias: tuple[float, float] = (0.025, 0.045)
    masses: tuple[float, float] = (1.4, 1.0)
    centres: tuple[float, float] = (0.11, 0.16)
    friction: tuple[tuple[float, float], tuple[float, float]] = ((0.05, 0.025), (0.025, 0.05))

    @property
    def a(self) -> tuple[float, float, float]:
        """`a1 = I1 + I2 + m2 L1^2`, `a2 = m2 L1 s2`, `a3 = I2`, of which M and c are made."""
        length, mass, centre = self.lengths[0], self.masses[1], self.centres[1]
        i1, i2 = self.inertias
        return i1 + i2 + mass * length**2, mass * length * centre, i2


#: The pose from which the published reaches start: 20 and 140 degrees.
START_ANGLES = (float(np.deg2rad(20)), float(np.deg2rad(140)))

_ARM = TwoJointArm()


def hand_position(
    theta: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM
) -> Float[Array, "*batch 2"]:
    """Where the hand is: x and y in m, the shoulder at the origin.

    **Arguments:**

    - `theta`: angles of shoulder and elbow.
    - `arm`: its constants.
    """
    l1, l2 = arm.lengths
    shoulder, both = theta[..., 0], theta[..., 0] + theta[..., 1]
    x = l1 * jnp.cos(shoulder) + l2 * jnp.cos(both)
    y = l1 * jnp.sin(shoulder) + l2 * jnp.sin(both)
    return jnp.stack([x, y], axis=-1)


def hand_jacobian(
    theta: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM
) -> Float[Array, "*batch 2 2"]:
    """How the hand moves with the joints: `J[..., i, j]`, coordinate i by angle j, in m."""
    l1, l2 = arm.lengths
    shoulder, both = theta[..., 0], theta[..., 0] + theta[..., 1]
    outer_x, outer_y = -l2 * jnp.sin(both), l2 * jnp.cos(both)
    row_x = jnp.stack([-l1 * jnp.sin(shoulder) + outer_x, outer_x], axis=-1)
    row_y = jnp.stack([l1 * jnp.cos(shoulder) + outer_y, outer_y], axis=-1)
    return jnp.stack([row_x, row_y], axis=-2)


def hand_velocity(
    theta: Float[Array, "*batch 2"], theta_dot: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM
) -> Float[Array, "*batch 2"]:
    """The velocity of the hand, `J(theta) theta'`, in m/s for angular velocities in rad/s."""
    return jnp.sum(hand_jacobian(theta, arm) * theta_dot[..., None, :], axis=-1)


def reachable(position: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM) -> Bool[Array, "*batch"]:
    """Whether the hand can be at a place: no farther than L1 + L2, no nearer than |L1 - L2|."""
    l1, l2 = arm.lengths
    distance = jnp.sum(position * position, axis=-1)
    return (distance <= (l1 + l2) ** 2) & (distance >= (l1 - l2) ** 2)


def joint_angles(
    position: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM
) -> Float[Array, "*batch 2"]:
    """The pose that brings the hand to a place, with the elbow bent by 0 to 180 degrees.

    **Arguments:**

    - `position`: x and y of the hand, in m.
    - `arm`: its constants.

    **Returns:** angles of shoulder and elbow. Under a JAX transformation nothing can be raised,
    and a place out of reach gives the pose that is stretched towards it. At the border of what can
    be reached the angles have an infinite derivative; 0 stands for that of the elbow.

    **Raises:** `ValueError` for a place out of reach, or one that is not finite.
    """
    l1, l2 = arm.lengths
    if not isinstance(position, jax.core.Tracer):
        # Rounding puts the border itself a little outside.
        slack = 1e-6 * (l1 + l2)
        distance = np.linalg.norm(np.asarray(position, float), axis=-1)
        inside = (distance <= l1 + l2 + slack) & (distance >= abs(l1 - l2) - slack)
        if not np.all(inside):
            raise ValueError(
                f"{np.sum(~inside)} of {np.size(inside)} positions are out of reach: the hand can "
                f"be {abs(l1 - l2):g} to {l1 + l2:g} m from the shoulder, got "
                f"{distance[~inside].flat[0]:g} m."
            )
    x, y = position[..., 0], position[..., 1]
    cosine = jnp.clip((x * x + y * y - l1**2 - l2**2) / (2 * l1 * l2), -1, 1)
    sine = safe_sqrt(1 - cosine * cosine)
    along, across = l1 + l2 * cosine, l2 * sine
    # At the shoulder itself every direction is as good, and none has a derivative.
    somewhere = x * x + y * y > 0
    away = jnp.where(somewhere, along * x + across * y, 1)
    shoulder = jnp.arctan2(jnp.where(somewhere, along * y - across * x, 0), away)
    return jnp.stack([shoulder, jnp.arctan2(sine, cosine)], axis=-1)


def inertia_matrix(
    theta: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM
) -> Float[Array, "*batch 2 2"]:
    """The inertia `M(theta)` of the joints, in kg m^2, symmetric and positive definite."""
    a1, a2, a3 = arm.a
    cosine = jnp.cos(theta[..., 1])
    m11, m12 = a1 + 2 * a2 * cosine, a3 + a2 * cosine
    m22 = jnp.full_like(cosine, a3)
    rows = [jnp.stack([m11, m12], axis=-1), jnp.stack([m12, m22], axis=-1)]
    return jnp.stack(rows, axis=-2)


def coriolis_torque(
    theta: Float[Array, "*batch 2"], theta_dot: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM
) -> Float[Array, "*batch 2"]:
    """The centripetal and Coriolis term `c(theta, theta')`, in N m for velocities in rad/s."""
    factor = arm.a[1] * jnp.sin(theta[..., 1])
    first, second = theta_dot[..., 0], theta_dot[..., 1]
    return factor[..., None] * jnp.stack([-second * (2 * first + second), first * first], axis=-1)


def arm_acceleration(
    theta: Float[Array, "*batch 2"],
    theta_dot: Float[Array, "*batch 2"],
    torque: Float[Array, "*batch 2"],
    arm: TwoJointArm = _ARM,
) -> Float[Array, "*batch 2"]:
    """Angular accelerations, `M^-1 (torque - c - B theta')`, in rad/s^2.

    **Arguments:**

    - `theta`, `theta_dot`: angles and angular velocities of shoulder and elbow.
    - `torque`: of the muscles, in N m.
    - `arm`: its constants.
    """
    (b11, b12), (b21, b22) = arm.friction
    first, second = theta_dot[..., 0], theta_dot[..., 1]
    friction = jnp.stack([b11 * first + b12 * second, b21 * first + b22 * second], axis=-1)
    push = torque - coriolis_torque(theta, theta_dot, arm) - friction
    M = inertia_matrix(theta, arm)
    m11, m12, m22 = M[..., 0, 0], M[..., 0, 1], M[..., 1, 1]
    # Positive in every pose, since M is.
    det = m11 * m22 - m12 * m12
    p1, p2 = push[..., 0], push[..., 1]
    return jnp.stack([m22 * p1 - m12 * p2, m11 * p2 - m12 * p1], axis=-1) / det[..., None]


def arm_energy(
    theta: Float[Array, "*batch 2"], theta_dot: Float[Array, "*batch 2"], arm: TwoJointArm = _ARM
) -> Float[Array, "*batch"]:
    """The kinetic energy `theta'^T M theta' / 2`, in J: constant without torque and friction."""
    momentum = jnp.sum(inertia_matrix(theta, arm) * theta_dot[..., None, :], axis=-1)
    return jnp.sum(theta_dot * momentum, axis=-1) / 2


def arm_step(
    theta: Float[Array, "*batch 2"],
    theta_dot: Float[Array, "*batch 2"],
    torque: Float[Array, "*batch 2"],
    dt: Any,
    arm: TwoJointArm = _ARM,
) -> tuple[Float[Array, "*batch 2"], Float[Array, "*batch 2"]]:
    """Angles and angular velocities one step of explicit Euler later: both move by the old values.

    The published step is `dt = 0.002` s.
    """
    acceleration = arm_acceleration(theta, theta_dot, torque, arm)
    return theta + dt * theta_dot, theta_dot + dt * acceleration
