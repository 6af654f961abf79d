import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.tangling import tangling


def _circle(n=200):
    t = 2 * np.pi * np.arange(n) / n
    x = np.stack([np.cos(t), np.sin(t)], axis=1)
    return x, x @ [[0.0, 1], [-1, 0]], t[1]


def test_circle_at_unit_speed():
    x, xdot, dt = _circle()
    # The antipode: |2|^2 / (|2|^2 + .1), with a variance of 1 in all.
    np.testing.assert_allclose(tangling(x, dt=dt, derivative=xdot), 4 / 4.1, rtol=1e-12)
    np.testing.assert_allclose(tangling(x, dt=dt), 4 / 4.1, rtol=1e-3)
    np.testing.assert_allclose(tangling(x, dt=dt / 2), 16 / 4.1, rtol=1e-3)
    np.testing.assert_allclose(tangling(x, dt=dt, derivative=xdot, epsilon=1.0), 4 / 5, rtol=1e-12)
    np.testing.assert_allclose(tangling(x, dt=dt, derivative=0 * xdot), 0)


@pytest.mark.parametrize(("n", "tolerance"), [(200, 1e-2), (2000, 1e-4)])
def test_figure_of_eight_at_its_crossing(n, tolerance):
    t = 2 * np.pi * np.arange(n) / n
    x = np.stack([np.sin(t), np.sin(2 * t)], axis=1)
    Q = tangling(x, dt=t[1])
    # Velocities (1, 2) and (-1, 2) at one place: 4 / .1.
    assert Q[n // 2] == pytest.approx(40, rel=tolerance)
    assert np.argmax(Q) in (0, n // 2)
    # At (1, 0) the velocity is (0, -2): 17 / 1.1 from the crossing, and the most is not far off.
    assert 17 / 1.1 < Q[n // 4] < 20


def test_layouts_and_invariances():
    x, _, dt = _circle(60)
    rng = np.random.default_rng(0)
    X = x @ rng.normal(size=(3, 2, 4))
    Q = tangling(X, dt=dt)
    assert Q.shape == (3, 60)
    Q_list = tangling(list(X), dt=dt)
    assert isinstance(Q_list, list)
    np.testing.assert_array_equal(np.stack(Q_list), Q)
    unequal = tangling([X[0], X[1, :9]], dt=dt)
    assert [len(q) for q in unequal] == [60, 9]
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    np.testing.assert_allclose(tangling(3 * X @ turn + 100, dt=dt), Q, rtol=1e-9)
    assert not np.allclose(tangling(X * [1, 5, 1, 1], dt=dt), Q)
    # No derivative goes from the end of one condition to the start of the next.
    jump = X + 50 * np.arange(3)[:, None, None]
    xdot = np.gradient(jump, dt, axis=1, edge_order=2)
    np.testing.assert_allclose(tangling(jump, dt=dt), tangling(jump, dt=dt, derivative=xdot))
    # Conditions are compared with one another: alone each is less tangled.
    alone = np.stack([tangling(x, dt=dt, epsilon=0.1) for x in X])
    assert (tangling(X, dt=dt, epsilon=0.1) >= alone - 1e-9).all()
    in_jax = tangling(jnp.asarray(X), dt=dt)
    assert isinstance(in_jax, np.ndarray)
    np.testing.assert_allclose(in_jax, Q, rtol=1e-3)


def test_many_samples_in_parts():
    x = np.random.default_rng(0).normal(size=(2500, 3))
    Q = tangling(x, dt=1.0, epsilon=0.5)
    xdot = np.gradient(x, axis=0, edge_order=2)
    for i in (0, 900, 2499):
        apart = ((x - x[i]) ** 2).sum(axis=1) + 0.5
        assert Q[i] == pytest.approx((((xdot - xdot[i]) ** 2).sum(axis=1) / apart).max())


def test_bad_input_is_refused():
    x, xdot, dt = _circle(20)
    for message, kwargs in (
        ("dt must be finite and above 0", {"dt": 0}),
        ("epsilon must be finite and above 0", {"epsilon": 0}),
        ("needs three times of each condition, got 2", {"X": x[:2]}),
        ("X does not vary", {"X": np.ones((5, 2))}),
        ("derivative must have the conditions", {"derivative": xdot[:-1]}),
        ("time 5, unit 1", {"X": np.where(np.arange(40).reshape(20, 2) == 11, np.nan, x)}),
    ):
        with pytest.raises(ValueError, match=message):
            tangling(**({"X": x, "dt": dt} | kwargs))
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda x: tangling(x, dt=dt))(x)
