"""Pushes of positions: their Jacobians, what they keep, and what they do to a grid module."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.diffeomorphic_push import diffeomorphism, pushed_rates, radial_push
from neurosim.kernels.ideal_grid import ideal_grid_module

CENTER = np.array([0.4, 0.55])
PUSH = {"center": CENTER, "gain": 0.7, "width": 0.1}
POINTS = np.random.default_rng(0).uniform(0, 1, size=(5, 2))


def test_jacobian_against_differences_and_closed_form():
    push = radial_push(POINTS, **PUSH)
    h = 1e-6
    for b, step in enumerate(h * np.eye(2)):
        moved = [radial_push(POINTS + s * step, **PUSH).positions for s in (1, -1)]
        np.testing.assert_allclose(
            push.jacobian[..., b], (moved[0] - moved[1]) / (2 * h), atol=1e-8
        )
    # Along the radius the push stretches by 1 + g e (1 - 2 u), across it by 1 + g e.
    u = np.sum((POINTS - CENTER) ** 2, axis=1) / (2 * 0.1**2)
    bump = 0.7 * np.exp(-u)
    np.testing.assert_allclose(push.area, (1 + bump) * (1 + bump * (1 - 2 * u)))
    np.testing.assert_allclose(push.area, np.linalg.det(push.jacobian))
    at_center = radial_push(CENTER, **PUSH)
    np.testing.assert_allclose(at_center.positions, CENTER)
    np.testing.assert_allclose(at_center.jacobian, 1.7 * np.eye(2))


def test_fields_are_drawn_to_the_attractor():
    # The cell that fired at Phi(x) fires at x: its field is nearer to the centre.
    line = CENTER + np.linspace(0, 0.4, 4001)[:, None] * np.array([1.0, 0.0])
    peak = CENTER + np.array([0.15, 0.0])
    push = radial_push(line, **PUSH)
    rates = pushed_rates(lambda y: np.exp(-np.sum((y - peak) ** 2, axis=-1) / 0.001), push)
    assert rates.max() == pytest.approx(1, abs=1e-3)
    assert np.linalg.norm(line[rates.argmax()] - CENTER) < 0.13


def test_a_constant_budget_keeps_integrals():
    # A push that ends well within the plane on which one integrates.
    n = 400
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n] * 2, indexing="ij"), axis=-1)
    push = radial_push(x, center=(0.5, 0.5), gain=1.5, width=0.07)

    def rates(y):
        return ideal_grid_module(y, n_per_side=2, spacing=0.3)

    before, kept = rates(x).mean(axis=(1, 2)), pushed_rates(rates, push, amplitude="budget")
    np.testing.assert_allclose(kept.mean(axis=(1, 2)), before, rtol=1e-5)
    changed = pushed_rates(rates, push).mean(axis=(1, 2))
    assert np.abs(changed / before - 1).max() > 0.01


def test_states_of_a_module_stay_on_its_torus():
    x = np.stack(np.meshgrid(*[np.arange(20) / 20] * 2, indexing="ij"), axis=-1)
    push = radial_push(x, center=(0.5, 0.5), gain=0.8, width=0.2)

    def module(y):
        return ideal_grid_module(y, n_per_side=4, spacing=0.3)

    squares = np.sum(pushed_rates(module, push) ** 2, axis=0)
    np.testing.assert_allclose(squares, 5 * 16 / 27)
    budget = np.sum(pushed_rates(module, push, amplitude="budget") ** 2, axis=0)
    np.testing.assert_allclose(budget, push.area**2 * 5 * 16 / 27)


def test_any_diffeomorphism(double_precision):
    def push(x):
        return radial_push(x, **PUSH).positions

    known, found = radial_push(POINTS, **PUSH), diffeomorphism(push, POINTS)
    np.testing.assert_allclose(found.positions, known.positions)
    np.testing.assert_allclose(found.jacobian, known.jacobian, atol=1e-14)
    assert isinstance(found.jacobian, np.ndarray)
    turned = diffeomorphism(lambda x: x[::-1], jnp.asarray(POINTS))
    assert isinstance(turned.jacobian, jax.Array)
    np.testing.assert_allclose(turned.area, 1)
    with pytest.raises(ValueError, match="not invertible"):
        diffeomorphism(lambda x: x**2, np.array([[0.5, 0.5], [-0.5, 0.5]]))


@pytest.mark.parametrize(
    ("positions", "changes", "said"),
    [
        (POINTS[:, :1], {}, r"positions must be \(..., 2\)"),
        (POINTS * np.nan, {}, "positions must be finite"),
        (POINTS, {"center": 0.5}, r"center must be \(2,\)"),
        (POINTS, {"center": (0.5, np.nan)}, "center must be finite"),
        (POINTS, {"gain": 2.3}, "folds the plane"),
        (POINTS, {"gain": -1.0}, "folds the plane"),
        (POINTS, {"width": 0.0}, "width must be positive"),
    ],
)
def test_bad_pushes(positions, changes, said):
    with pytest.raises(ValueError, match=said):
        radial_push(positions, **PUSH | changes)


def test_bad_amplitude():
    with pytest.raises(ValueError, match="amplitude must be"):
        pushed_rates(lambda y: y[..., 0], radial_push(POINTS, **PUSH), amplitude="peak")
