"""Joint fixed points of a network and its modulator, against the whole model."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.fixed_points import find_fixed_points
from neurosim.analysis.low_rank_fixed_points import reduced_fixed_points
from neurosim.analysis.modulated_fixed_points import modulated_fixed_points
from neurosim.analysis.poincare_hopf import poincare_hopf_sum
from neurosim.models import NMRNN, NMRNNState

KEY = jax.random.key(0)
NAMES = ("L", "R", "W_z", "A_z", "b_z", "B_x", "B_z", "B_zx", "b_zx")


def network(seed, *, feedback):
    """Seven units of rank 2 and two modulators, both with several fixed points."""
    rng = np.random.default_rng(seed)
    w = {"L": rng.normal(size=(7, 2)), "R": rng.normal(size=(7, 2)), "B_x": rng.normal(size=(7, 1))}
    w["R"] += w["L"]
    w |= {"W_z": np.diag([2.0, 0.5]) + 0.1 * rng.normal(size=(2, 2))}
    w |= {"B_z": 0.1 * rng.normal(size=(2, 2)), "A_z": 2 * rng.normal(size=(2, 2))}
    w |= {"b_z": rng.normal(size=2), "B_zx": None, "b_zx": None}
    if feedback:
        w |= {"B_zx": rng.normal(size=(2, 7)) / 7, "b_zx": 0.1 * rng.normal(size=2)}
    return w


def model_of(w):
    arrays = {k: None if v is None else jnp.asarray(v) for k, v in w.items()}
    return NMRNN(
        **arrays, C=jnp.ones((1, 7)), d=None, x0=jnp.zeros(7), z0=jnp.zeros(2),
        tau_x=2.0, tau_z=10.0,
    )  # fmt: skip


class Field(eqx.Module):
    """The whole model's flow, x and z in units of their own time constants."""

    model: NMRNN
    u: jax.Array

    def __call__(self, state):
        dx, dz = self.model.vector_field(0.0, NMRNNState(*state), self.u)
        return 2 * dx, 10 * dz


@pytest.mark.parametrize("feedback", [False, True])
def test_joint_points_are_those_of_the_whole_model(feedback):
    w, u = network(1, feedback=feedback), np.array([0.3, -0.5])
    found = modulated_fixed_points(**w, input=u, tau_x=2.0, tau_z=10.0, key=KEY)
    assert len(found) >= 5
    with jax.enable_x64(True):
        model = model_of(w)
        field = Field(model, jnp.asarray(u))

        def at(x, z):
            both = jnp.concatenate([x, z])
            rate = jnp.repeat(jnp.array([1 / 2, 1 / 10]), np.array([7, 2]))
            velocity = lambda y: jnp.concatenate(field((y[:7], y[7:])))  # noqa: E731
            return velocity(both), rate[:, None] * jax.jacfwd(velocity)(both), model.gains(z)

        velocity, jacobians, gains = jax.jit(jax.vmap(at))(found.states, found.z)
    np.testing.assert_allclose(np.linalg.norm(velocity, axis=1), found.residual, atol=1e-12)
    assert found.residual.max() < 1e-8
    np.testing.assert_allclose(found.gains, gains, rtol=1e-12)
    expected = np.sort_complex(np.linalg.eigvals(jacobians))
    np.testing.assert_allclose(np.sort_complex(found.eigenvalues), expected, atol=1e-8)
    np.testing.assert_array_equal(found.stable, (expected.real < 0).all(axis=1))
    assert found.stable.any()
    # All trajectories end in a ball, so the signs of det(-J) sum to 1 if no point is missing.
    assert np.sum(np.sign(np.prod(-expected, axis=1).real)) == poincare_hopf_sum(found.eigenvalues) == 1
    assert not found.continuous.any()
    text = str(found)
    assert text.startswith(f"{len(found)} fixed point(s) of 7 + 2 units")
    assert text.count("not stable") == int((~found.stable).sum()) > 0
    if not feedback:
        assert len(found.searches) == 1 + len(found.searches[0]) == 4
        return
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        starts = (4 * rng.normal(size=(400, 7)), 2 * rng.normal(size=(400, 2)))
        whole = find_fixed_points(field, starts, kind="flow", warmup_steps=0)
    assert len(whole) == len(found)
    for x, z in zip(*whole.points):
        distance = np.linalg.norm(found.states - x, axis=1) + np.linalg.norm(found.z - z, axis=1)
        assert distance.min() < 1e-7


def test_gains_held_by_a_modulator_at_rest_are_gains_given():
    """Without recurrence z rests at B_z u, and s at sigmoid(A_z B_z u + b_z)."""
    w = network(2, feedback=False)
    w["W_z"] = np.zeros((2, 2))
    u = np.array([0.3, -0.5])
    joint = modulated_fixed_points(**w, input=u, key=KEY)
    s = 1 / (1 + np.exp(-(w["A_z"] @ w["B_z"] @ u + w["b_z"])))
    given = reduced_fixed_points(w["L"], w["R"], gains=s, B=w["B_x"], input=u[:1], key=KEY)
    assert len(joint) == len(given)
    np.testing.assert_allclose(
        np.sort(joint.kappa, axis=0), np.sort(given.kappa, axis=0), atol=1e-9
    )
    np.testing.assert_allclose(joint.gains, np.tile(s, (len(joint), 1)), rtol=1e-9)


def test_one_gain_for_all_components_and_no_input():
    L = np.eye(7)[:, :2]
    found = modulated_fixed_points(
        L, 0.5 * L, W_z=np.zeros((2, 2)), A_z=np.ones((1, 2)), b_z=np.zeros(1),
        tau_x=2.0, tau_z=8.0, key=KEY,
    )  # fmt: skip
    np.testing.assert_allclose(found.kappa, [[0, 0]], atol=1e-9)
    np.testing.assert_allclose(found.gains, [[0.5]])
    # z, two modes at (-1 + 0.25) / 2, and five directions with the leak.
    expected = [[-0.125] * 2 + [-0.375] * 2 + [-0.5] * 5]
    np.testing.assert_allclose(found.eigenvalues, expected, atol=1e-9)


@pytest.mark.parametrize("feedback", [False, True])
def test_starts_may_be_given(feedback):
    w = network(1, feedback=feedback)
    rng = np.random.default_rng(0)
    starts = (3 * rng.normal(size=(256, 2)), rng.normal(size=(256, 2)))
    found = modulated_fixed_points(**w, input=np.zeros(2), starts=starts)
    assert len(found) >= 3
    # With no input and no offset the flow of x is odd: with kappa goes -kappa under the same gains.
    if not feedback:
        for kappa, z in zip(found.kappa, found.z):
            mirrored = np.linalg.norm(found.kappa + kappa, axis=1)
            mirrored += np.linalg.norm(found.z - z, axis=1)
            assert mirrored.min() < 1e-7


def test_with_feedback_a_line_of_memory_stays_one_continuum():
    """One linear modulator that keeps what it holds, and x at rest."""
    L = np.eye(3)[:, :1]
    found = modulated_fixed_points(
        L, 0.1 * L, W_z=np.ones((1, 1)), A_z=np.ones((1, 1)), b_z=np.zeros(1),
        B_zx=np.zeros((1, 3)), b_zx=np.zeros(1), tau_x=2.0, tau_z=5.0, phi=lambda x: x,
        warmup_steps=0, key=KEY,
    )  # fmt: skip
    assert found.continuous.tolist() == [True]
    assert found.stable.tolist() == [True]
    np.testing.assert_allclose(found.eigenvalues[0, 0], 0, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W_z": np.ones((2, 3))}, "W_z must be square"),
        ({"A_z": np.ones((3, 2))}, r"A_z must be \(2, 2\)"),
        ({"A_z": np.ones((2, 3))}, r"A_z must be \(2, 2\)"),
        ({"b_z": np.ones(1)}, r"b_z must be \(gain,\) = \(2,\)"),
        ({"B_zx": np.ones((2, 7))}, "both B_zx and b_zx"),
        ({"B_zx": np.ones((7, 2)), "b_zx": np.ones(2)}, r"B_zx must be \(2, 7\)"),
        ({"B_zx": np.ones((2, 7)), "b_zx": np.ones(3)}, "b_zx must be"),
        ({"B_z": None}, "go together"),
        ({"input": np.ones(3)}, "input must be"),
        ({"B_x": np.ones((7, 3))}, "x takes 3 input channels"),
        ({"B_x": np.ones((6, 1))}, "B_x must be"),
        ({"B_z": np.ones((3, 2))}, "B_z must be"),
        ({"tau_z": 0.0}, "tau_z must be"),
        ({"L": np.full((7, 2), np.nan)}, "L must be finite"),
        ({"key": None}, "give starts, or a key"),
        ({"key": 0}, "key must be one key"),
        ({"n_starts": 2.5}, "n_starts must be a whole number"),
        ({"phi": "tanh"}, "phi must be a function"),
        ({"gain_fn": "sigmoid"}, "gain_fn must be a function"),
        ({"phi": lambda x: np.tanh(x)}, "phi cannot be traced: write it with jax.numpy"),
        ({"L": None}, "L is needed, got None"),
        ({"W_z": None}, "W_z is needed, got None"),
        ({"tolerence": 1.0}, "no option 'tolerence'"),
        ({"starts": np.ones((3, 2))}, r"starts must be a pair of arrays, \(start, rank\) of kappa"),
        ({"starts": (np.ones((3, 2)), None)}, "starts must be a pair"),
        ({"starts": (np.ones((3, 2)), np.ones((3, 3)))}, "starts of z must be"),
        ({"starts": (np.ones((3, 1)), np.ones((3, 2)))}, "starts of kappa must be"),
        (
            {"starts": (np.ones((3, 2)), np.ones((4, 2))), "B_zx": np.ones((2, 7)),
             "b_zx": np.ones(2)},
            "as many starts",
        ),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(change, message):
    fields = {**network(0, feedback=False), "input": np.ones(2), "key": KEY, **change}
    with pytest.raises(ValueError, match=message):
        modulated_fixed_points(**fields)


def test_a_gain_function_that_cannot_be_traced_is_refused():
    w = {**network(0, feedback=True), "input": np.ones(2)}
    with pytest.raises(ValueError, match=r"gain_fn cannot be traced: write it with jax.numpy"):
        modulated_fixed_points(**w, gain_fn=lambda x: np.tanh(x), key=KEY)


def test_values_that_are_not_known_yet_are_refused():
    w = {**network(0, feedback=False), "input": np.ones(2), "key": KEY}
    with pytest.raises(TypeError, match=r"modulated_fixed_points .* outside"):
        jax.jit(lambda L: modulated_fixed_points(**{**w, "L": L}).kappa)(jnp.ones((7, 2)))
