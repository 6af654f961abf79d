"""A rate network that moves a two-joint arm and feels where it is."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.two_joint_arm import (
    START_ANGLES,
    TwoJointArm,
    arm_acceleration,
    hand_position,
    hand_velocity,
)
from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant


class ReachingState(NamedTuple):
    """Units, `(N,)`, and angles and angular velocities of shoulder and elbow, `(2,)` each."""

    z: Any
    theta: Any
    theta_dot: Any


class ReachingNetwork(Dynamics):
    """Rate network and arm in one loop; times are in seconds, angles in radians.

        tau dz/dt = -z + W r + b + B u + F (theta, theta'),   r = phi(z) xi
        theta'' = M^-1 (C^T r - c - friction theta'),         y = (hand, velocity of the hand)

    - `W`: `(N, N)`, `b`: `(N,)`, `B`: `(N, U)`, `F`: `(N, 4)`, `C`: `(N, 2)`.
    - `z0`: `(N,)` initial state of the units, which trains.
    - `theta0`: `(2,)` pose of the arm at the start, at rest; it does not train.
    - `tau`: time constant in s.
    - `arm`: the constants of the arm.
    - `noisy`: whether N further input channels hold the noise, `xi - 1` for each unit. So the
        noise belongs to the trials and does not change with the parameters, and silence is none.

    The published recursion, explicit Euler with `dt = 0.002` s, needs no step of its own.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), NeurIPS, section 4.4; the arm is that
    of Li & Todorov (2004).
    """

    W: Float[Array, "unit unit"]
    b: Float[Array, " unit"]
    B: Float[Array, "unit input"]
    F: Float[Array, "unit 4"]
    C: Float[Array, "unit 2"]
    z0: Float[Array, " unit"]
    theta0: Float[Array, " 2"] = fixed_field()
    tau: Any = fixed_field(default=0.02)
    arm: TwoJointArm = eqx.field(static=True, default=TwoJointArm())
    phi: Callable = eqx.field(static=True, default=jax.nn.relu)
    noisy: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        check_time_constant(tau=self.tau)

    @classmethod
    def init(
        cls,
        n_units: int = 64,
        n_in: int = 3,
        *,
        key: PRNGKeyArray,
        tau: float | int = 0.02,
        phi: Callable = jax.nn.relu,
        noisy: bool = False,
    ) -> "ReachingNetwork":
        """The initialisation of the published code: nearly silent.

        W and b have the standard deviation 0.5 / sqrt(N (N + 1)), B 0.1 / sqrt(U), F 0.1 and C
        0.1 / N; the units start at 0.

        **Arguments:**

        - `n_units`: 64 are published.
        - `n_in`: input channels without those of noise: 3 for single reaches, 6 for double ones.
        - `tau`, `phi`, `noisy`: as in the class.

        **Raises:** `ValueError` for sizes below 1 or a time constant that is not positive.
        """
        check_sizes(n_units=n_units, n_in=n_in)
        k_w, k_b, k_in, k_f, k_c = jax.random.split(key, 5)
        normal = jax.random.normal
        recurrent = 0.5 / jnp.sqrt(n_units * (n_units + 1))
        return cls(
            W=recurrent * normal(k_w, (n_units, n_units)),
            b=recurrent * normal(k_b, (n_units,)),
            B=0.1 / jnp.sqrt(n_in) * normal(k_in, (n_units, n_in)),
            F=0.1 * normal(k_f, (n_units, 4)),
            C=0.1 / n_units * normal(k_c, (n_units, 2)),
            z0=jnp.zeros(n_units),
            theta0=jnp.array(START_ANGLES),
            tau=tau,
            phi=phi,
            noisy=noisy,
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels, those of noise included."""
        n_units, n_in = self.B.shape
        return n_in + n_units if self.noisy else n_in

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau": self.tau}

    def initial_state(self) -> ReachingState:
        """`z0`, and the arm at rest in its pose."""
        return ReachingState(self.z0, self.theta0, jnp.zeros_like(self.theta0))

    def vector_field(self, t: Any, state: ReachingState, input: Any) -> ReachingState:
        """`dz/dt`, `theta'` and `theta''`, per second."""
        z, theta, theta_dot = state
        n_in = self.B.shape[1]
        r = self.phi(z)
        if self.noisy:
            r = r * (1 + input[n_in:])
        felt = self.F @ jnp.concatenate([theta, theta_dot])
        drive = self.W @ r + self.b + self.B @ input[:n_in] + felt
        torque = r @ self.C
        acceleration = arm_acceleration(theta, theta_dot, torque, self.arm)
        return ReachingState((drive - z) / self.tau, theta_dot, acceleration)

    def readout(self, state: ReachingState) -> Float[Array, " 4"]:
        """Position of the hand in m and its velocity in m/s: `(x, y, vx, vy)`."""
        hand = hand_position(state.theta, self.arm)
        velocity = hand_velocity(state.theta, state.theta_dot, self.arm)
        return jnp.concatenate([hand, velocity])
