"""The two-joint arm against geometry, Lagrange's equations and the conservation of energy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from neurosim.kernels.two_joint_arm import (
    START_ANGLES,
    TwoJointArm,
    arm_acceleration,
    arm_energy,
    arm_step,
    coriolis_torque,
    hand_jacobian,
    hand_position,
    hand_velocity,
    inertia_matrix,
    joint_angles,
    reachable,
)

pytestmark = pytest.mark.usefixtures("double_precision")

FREE = TwoJointArm(friction=((0.0, 0.0), (0.0, 0.0)))
UNEQUAL = TwoJointArm(lengths=(0.33, 0.25))


@pytest.fixture
def poses():
    rng = np.random.default_rng(0)
    theta, theta_dot, torque = rng.normal(size=(3, 4, 5, 2))
    return jnp.asarray(theta), jnp.asarray(3 * theta_dot), jnp.asarray(torque)


def test_the_published_start():
    theta = jnp.array(START_ANGLES)
    # 0.3 (sin 20 + sin 160) = 0.6 sin 20 degrees.
    np.testing.assert_allclose(hand_position(theta), [0, 0.2052120860], rtol=0, atol=1e-10)
    determinant = np.linalg.det(inertia_matrix(theta))
    assert determinant == pytest.approx(0.0038229573, abs=1e-10)
    assert TwoJointArm().a == pytest.approx((0.16, 0.048, 0.045), abs=1e-15)


def test_hand_in_poses_that_need_no_arithmetic():
    quarter = np.pi / 2
    theta = jnp.array([[0, 0], [quarter, 0], [0, quarter], [0.4, np.pi]])
    expected = [[0.58, 0], [0, 0.58], [0.33, 0.25], [0.08 * np.cos(0.4), 0.08 * np.sin(0.4)]]
    np.testing.assert_allclose(hand_position(theta, UNEQUAL), expected, rtol=0, atol=1e-15)


def test_velocity_of_the_hand_is_the_derivative_of_its_position(poses):
    theta, theta_dot, torque = poses
    moved = jax.jvp(lambda x: hand_position(x, UNEQUAL), (theta,), (theta_dot,))[1]
    np.testing.assert_allclose(hand_velocity(theta, theta_dot, UNEQUAL), moved, rtol=1e-12)
    # The transpose takes forces at the hand to torques: v . f = theta' . J^T f.
    J, force = hand_jacobian(theta, UNEQUAL), torque
    power = jnp.sum(theta_dot * jnp.einsum("...ij,...i->...j", J, force), axis=-1)
    np.testing.assert_allclose(jnp.sum(moved * force, axis=-1), power, rtol=1e-10)


def test_inverse_kinematics_goes_there_and_back():
    rng = np.random.default_rng(1)
    theta = np.stack([rng.uniform(-3, 3, 40), rng.uniform(0.05, 3.1, 40)], axis=-1)
    found = joint_angles(hand_position(jnp.asarray(theta), UNEQUAL), UNEQUAL)
    np.testing.assert_allclose(found, theta, rtol=0, atol=1e-11)
    start = joint_angles(jnp.array([0.0, 0.6 * np.sin(np.deg2rad(20))]))
    np.testing.assert_allclose(np.rad2deg(start), [20, 140], rtol=0, atol=1e-9)


def test_what_is_within_reach():
    distance = jnp.array([0.0, 0.0799, 0.0801, 0.3, 0.5799, 0.5801])
    places = distance[:, None] * jnp.array([0.6, -0.8])
    expected = [False, False, True, True, True, False]
    np.testing.assert_array_equal(reachable(places, UNEQUAL), expected)
    assert bool(reachable(jnp.zeros(2)))
    with pytest.raises(ValueError, match=r"1 of 2 positions are out of reach.*0 to 0.6 m.*0.61 m"):
        joint_angles(jnp.array([[0.1, 0.1], [0.61, 0.0]]))
    with pytest.raises(ValueError, match="out of reach"):
        joint_angles(jnp.array([jnp.nan, 0.0]))
    # Traced, the pose stretched towards the place; and derivatives are finite at the borders.
    far = jax.jit(joint_angles)(jnp.array([0.0, 2.0]))
    np.testing.assert_allclose(far, [np.pi / 2, 0], rtol=0, atol=1e-12)
    for place in ([0.0, 0.0], [0.6, 0.0], [0.0, 2.0]):
        assert np.all(np.isfinite(jax.jacfwd(joint_angles)(jnp.array(place))))


def test_acceleration_obeys_lagranges_equations(poses):
    """d/dt (dE/dtheta') - dE/dtheta = torque - friction, from the kinetic energy alone."""
    theta, theta_dot, torque = (x.reshape(-1, 2) for x in poses)
    arm = TwoJointArm(friction=((0.06, 0.02), (0.03, 0.05)))

    def forces(theta, theta_dot, acceleration):
        def momentum(theta, theta_dot):
            return jax.grad(arm_energy, argnums=1)(theta, theta_dot)

        change = jax.jvp(momentum, (theta, theta_dot), (theta_dot, acceleration))[1]
        return change - jax.grad(arm_energy)(theta, theta_dot)

    found = arm_acceleration(theta, theta_dot, torque, arm)
    expected = torque - theta_dot @ np.array(arm.friction).T
    np.testing.assert_allclose(jax.vmap(forces)(theta, theta_dot, found), expected, atol=1e-12)
    # Velocities that are all that matters push no work into the arm beyond M's change.
    zero = jnp.zeros_like(theta)
    still = arm_acceleration(theta, zero, zero, arm)
    np.testing.assert_array_equal(still, zero)
    np.testing.assert_array_equal(coriolis_torque(theta, zero), zero)


def test_energy_is_kept_without_torque_and_friction():
    start = np.array([0.3, 1.9, 4.0, -3.0])

    def flow(t, y):
        return np.concatenate([y[2:], accelerate(y[:2], y[2:])])

    accelerate = jax.jit(lambda x, v: arm_acceleration(x, v, jnp.zeros(2), FREE))
    energy = jax.jit(lambda x, v: arm_energy(x, v, FREE))
    end = solve_ivp(flow, (0, 0.5), start, method="DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    before = float(energy(start[:2], start[2:]))
    assert not np.allclose(end[2:], start[2:], atol=1)
    assert float(energy(end[:2], end[2:])) == pytest.approx(before, rel=1e-9)

    @jax.jit
    def drift(dt):
        def move(i, pose):
            theta, theta_dot = pose
            return arm_step(theta, theta_dot, jnp.zeros(2), dt, FREE)

        n_steps = jnp.round(0.5 / dt).astype(int)
        theta, theta_dot = jax.lax.fori_loop(0, n_steps, move, (start[:2], start[2:]))
        return arm_energy(theta, theta_dot, FREE) - before, theta

    # Explicit Euler is of first order, in its energy and in its pose.
    coarse, fine = drift(2e-4), drift(1e-4)
    assert float(coarse[0] / fine[0]) == pytest.approx(2, abs=0.05)
    errors = [np.linalg.norm(np.asarray(pose) - end[:2]) for _, pose in (coarse, fine)]
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.05)


def test_a_step_moves_positions_by_the_old_velocities(poses):
    theta, theta_dot, torque = poses
    new_theta, new_velocity = arm_step(theta, theta_dot, torque, 0.002)
    np.testing.assert_allclose(new_theta, theta + 0.002 * theta_dot, rtol=0, atol=1e-15)
    changed = (new_velocity - theta_dot) / 0.002
    np.testing.assert_allclose(changed, arm_acceleration(theta, theta_dot, torque), rtol=1e-10)


def test_forward_mode_in_single_precision():
    theta, zero = jnp.float32([0.5, 1.0]), jnp.zeros(2, jnp.float32)

    def hand(torque):
        moved, velocity = arm_step(theta, zero, torque, jnp.float32(0.1))
        return hand_position(arm_step(moved, velocity, torque, jnp.float32(0.1))[0])

    pushes = jnp.eye(2, dtype=jnp.float32)
    by_column = jax.vmap(lambda push: jax.jvp(hand, (zero,), (push,))[1])(pushes)
    assert by_column.dtype == jnp.float32
    # One step from rest: hand' = J M^-1 dt^2.
    J, M = hand_jacobian(theta), inertia_matrix(theta)
    np.testing.assert_allclose(by_column.T, 0.01 * J @ np.linalg.inv(M), rtol=1e-4)
