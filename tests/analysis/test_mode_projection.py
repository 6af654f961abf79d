"""Projections on the directions of a low-rank network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.low_rank_reduction import exact_reduction, reconstruct_states
from neurosim.analysis.mode_projection import project_modes, project_on_span

RNG = np.random.default_rng(0)
L = RNG.normal(size=(9, 3))
KAPPA = RNG.normal(size=(4, 11, 3))


def test_coordinates_come_back_whatever_lies_across():
    frame, _ = np.linalg.qr(L, mode="complete")
    across = RNG.normal(size=(4, 11, 6)) @ frame[:, 3:].T
    X = KAPPA @ L.T + across
    found = project_modes(X, L)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, KAPPA, rtol=0, atol=1e-13)
    expected = X @ L @ np.linalg.inv(L.T @ L)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    # Of orthonormal columns it is L^T x.
    np.testing.assert_allclose(project_modes(X, frame[:, :3]), X @ frame[:, :3], atol=1e-14)


def test_layouts_and_kinds_of_array_are_kept():
    X = KAPPA @ L.T
    np.testing.assert_allclose(project_modes(X[0], L), KAPPA[0], rtol=0, atol=1e-13)
    unequal = project_modes([X[0], X[1, :5]], L)
    assert [len(trial) for trial in unequal] == [11, 5]
    np.testing.assert_allclose(unequal[1], KAPPA[1, :5], rtol=0, atol=1e-13)
    in_jax = jax.jit(project_modes)(jnp.asarray(X, jnp.float32), jnp.asarray(L, jnp.float32))
    assert in_jax.dtype == jnp.float32
    np.testing.assert_allclose(in_jax, KAPPA, rtol=0, atol=1e-5)
    assert isinstance(project_modes([X[0]], jnp.asarray(L))[0], jax.Array)


def test_a_reduction_says_what_input_and_start_add_to_the_coordinates():
    R, B = RNG.normal(size=(9, 3)), RNG.normal(size=(9, 2))
    u, x0 = RNG.normal(size=(30, 2)), RNG.normal(size=9)
    found = exact_reduction(L, R, B, u, x0=x0, tau=5.0)
    x = reconstruct_states(found, L, B, x0=x0)
    rest = found.filtered_input @ B.T + found.leak[:, None] * x0
    np.testing.assert_allclose(
        project_modes(x, L), found.kappa + project_modes(rest, L), rtol=0, atol=1e-12
    )


def test_the_span_is_drawn_without_distortion():
    X = KAPPA @ L.T
    found = project_on_span(X, L)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(found.basis @ found.directions, L, atol=1e-14)
    np.testing.assert_allclose(found.coordinates, KAPPA @ found.directions.T, atol=1e-13)
    lengths = np.linalg.norm(found.coordinates, axis=-1)
    np.testing.assert_allclose(lengths, np.linalg.norm(X, axis=-1), rtol=1e-13)
    # The first axis is along the first column, and every column's own axis not against it.
    np.testing.assert_allclose(
        found.directions[:, 0], [np.linalg.norm(L[:, 0]), 0, 0], rtol=1e-13, atol=1e-13
    )
    assert np.all(np.diag(found.directions) > 0)
    flipped = project_on_span(X, -L)
    np.testing.assert_allclose(flipped.coordinates, -found.coordinates, atol=1e-13)


@pytest.mark.usefixtures("double_precision")
def test_projections_can_be_differentiated():
    x, left = jnp.asarray(KAPPA[0] @ L.T) + 1, jnp.asarray(L)
    along = jnp.asarray(RNG.normal(size=L.shape))

    def f(left):
        return jnp.sum(project_modes(x, left) ** 3)

    _, slope = jax.jvp(f, (left,), (along,))
    h = 1e-6
    np.testing.assert_allclose(
        slope, (f(left + h * along) - f(left - h * along)) / (2 * h), rtol=1e-6
    )


@pytest.mark.parametrize("project", [project_modes, project_on_span])
def test_bad_arguments_are_refused(project):
    X = KAPPA @ L.T
    for bad_x, bad_l, message in (
        (X, L[:8], "with the 9 units of X"),
        (X, L[:, 0], "with the 9 units of X"),
        (X, L[:, :0], "with the 9 units of X"),
        (X, L[:, [0, 1, 1]], "dependent columns .rank 2 of 3."),
        (X, np.full((9, 3), np.nan), "must be finite"),
        (np.where(X > 1, np.inf, X), L, "not finite"),
        (X[0, 0], L, r"X must be \(time, units\)"),
        (X, None, "is needed, got None"),
    ):
        with pytest.raises(ValueError, match=message):
            project(bad_x, bad_l)
