import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

from neurosim.analysis.jpca import JPCA


def _rotation(omega_dt, *, dt=0.01, n_times=40, n_conditions=6, axes=None):
    """States on circles, their phases spread evenly over conditions, whose mean is then 0."""
    phase = 2 * np.pi * np.arange(n_conditions)[:, None] / n_conditions
    angle = omega_dt * np.arange(n_times) + phase
    X = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return X if axes is None else X @ axes


@pytest.mark.parametrize("method", ["forward", "central"])
@pytest.mark.parametrize(("omega_dt", "low"), [(0.1, 0.0017), (1.0, 0.16)])
def test_differences_are_slow_by_the_sine(method, omega_dt, low):
    dt = 0.01
    X = _rotation(omega_dt, dt=dt)
    jpca = JPCA(2, dt=dt, method=method, soft_constant=None).fit(X)
    expected = np.sin(omega_dt) / dt / (2 * np.pi)
    np.testing.assert_allclose(jpca.frequencies_, [expected], rtol=1e-12)
    assert 1 - expected * 2 * np.pi * dt / omega_dt == pytest.approx(low, abs=0.002)


@pytest.mark.parametrize("omega_dt", [0.1, 1.0, 2.5])
def test_logarithm_is_exact(omega_dt):
    X = _rotation(omega_dt)
    jpca = JPCA(2, dt=0.01, method="log", soft_constant=None).fit(X)
    np.testing.assert_allclose(jpca.frequencies_, [omega_dt / 0.01 / (2 * np.pi)], rtol=1e-10)
    assert jpca.r2_skew_ == pytest.approx(1)
    assert jpca.r2_ratio_ == pytest.approx(1)


def test_central_differences_of_a_rotation_are_fitted_by_rotation_alone():
    jpca = JPCA(2, dt=0.01, method="central", soft_constant=None).fit(_rotation(0.3))
    assert jpca.r2_skew_ == pytest.approx(1)
    # Growth is not: central differences of e^(g t) are growth, of which rotation has no part.
    X = np.exp(0.05 * np.arange(20))[None, :, None] * np.eye(3)[:, None, :2]
    X = X - X.mean(axis=0)
    jpca = JPCA(2, method="central", soft_constant=None).fit(X)
    assert jpca.r2_skew_ == pytest.approx(0, abs=1e-12)
    assert jpca.r2_unconstrained_ == pytest.approx(1)
    assert jpca.r2_ratio_ == pytest.approx(0, abs=1e-12)


def _two_planes(seed=0):
    """Two rotations, a time course that all conditions share, and a bit of noise: 20 units."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(20, 5)))[0].T
    X = 3 * _rotation(0.2, axes=Q[:2]) + 2 * _rotation(0.05, axes=Q[2:4])
    X += 8 * np.sin(0.1 * np.arange(40))[:, None] * Q[4] + 5
    return X + 0.001 * rng.normal(size=X.shape), Q


def test_planes_of_a_population():
    X, Q = _two_planes()
    jpca = JPCA(4, dt=0.01, method="log", soft_constant=None).fit(X)
    expected = np.array([0.2, 0.05]) / 0.01 / (2 * np.pi)
    np.testing.assert_allclose(jpca.frequencies_, expected, rtol=0.002)
    np.testing.assert_allclose(jpca.plane_variance_ratio_, [9 / 13, 4 / 13], rtol=1e-4)
    np.testing.assert_allclose(jpca.components_ @ jpca.components_.T, np.eye(4), atol=1e-12)
    for rows in (slice(0, 2), slice(2, 4)):
        cosines = np.linalg.svd(jpca.components_[rows] @ Q[rows].T)[1]
        np.testing.assert_allclose(cosines, 1, atol=1e-4)
    planes = jpca.transform(X)
    assert planes.shape == (6, 40, 4)
    # States turn anticlockwise.
    x, y = planes[:, :-1, 0], planes[:, :-1, 1]
    assert (x * np.diff(planes[..., 1], axis=1) - y * np.diff(planes[..., 0], axis=1) > 0).all()
    np.testing.assert_allclose(planes.mean(axis=0), 0, atol=1e-12)


def test_first_axis_is_along_the_spread_at_the_first_time():
    # Two conditions, on opposite sides of a circle: at first along (1, 1).
    angle = np.pi / 4 + 0.1 * np.arange(30)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    jpca = JPCA(2, soft_constant=None).fit(np.stack([X, -X]))
    np.testing.assert_allclose(jpca.components_[0], np.sqrt([0.5, 0.5]), atol=1e-12)
    np.testing.assert_allclose(jpca.components_[1], np.sqrt([0.5, 0.5]) * [-1, 1], atol=1e-12)
    # The other way round.
    back = JPCA(2, soft_constant=None).fit(np.stack([X, -X])[:, ::-1])
    assert back.components_[1] @ [-back.components_[0][1], back.components_[0][0]] < 0


def test_soft_normalisation_and_invariances():
    X, _ = _two_planes()
    jpca = JPCA(4).fit(X)
    np.testing.assert_allclose(jpca.scale_, np.ptp(X, axis=(0, 1)) + 5)
    rng = np.random.default_rng(3)
    units, conditions = rng.permutation(20), rng.permutation(6)
    same = JPCA(4).fit(X[conditions][..., units])
    np.testing.assert_allclose(same.frequencies_, jpca.frequencies_, rtol=1e-9)
    np.testing.assert_allclose(same.components_, jpca.components_[:, units], atol=1e-6)
    np.testing.assert_allclose(JPCA(4, dt=0.1).fit(X).frequencies_, 10 * jpca.frequencies_)
    shuffled = JPCA(4).fit(X[:, rng.permutation(40)])
    assert shuffled.r2_skew_ < 0.5 * jpca.r2_skew_
    in_jax = JPCA(4).fit(jnp.asarray(X))
    assert isinstance(in_jax.components_, np.ndarray)
    np.testing.assert_allclose(in_jax.frequencies_, jpca.frequencies_, rtol=1e-3)
    copy = clone(JPCA(4, dt=0.5, method="log"))
    assert copy.get_params()["dt"] == 0.5


def test_bad_input_is_refused():
    X, _ = _two_planes()
    for message, make, data in (
        ("method must be", JPCA(2, method="backward"), X),
        ("dt must be finite and above 0", JPCA(2, dt=0), X),
        ("n_components must lie between 2 and 20", JPCA(1), X),
        ("n_components must lie between 2 and 20", JPCA(21), X),
        ("X has one condition", JPCA(2), X[:1]),
        ("conditions do not differ", JPCA(2), np.stack([X[0], X[0]])),
        ("does not change over time", JPCA(2), np.repeat(X[:, :1], 5, axis=1)),
        ("must have trials", JPCA(2), X[0]),
        ("same times, got between 9 and 40", JPCA(2), [X[0], X[1, :9]]),
        ("constant must be finite", JPCA(2, soft_constant=-1.0), X),
        ("trial 0, time 0, neuron 0|trial 0, time 0, unit 0", JPCA(2), np.where(X > 5, np.nan, X)),
    ):
        with pytest.raises(ValueError, match=message):
            make.fit(data)
    with pytest.raises(ValueError, match="not fitted"):
        JPCA().transform(X)
    jpca = JPCA(2).fit(X)
    with pytest.raises(ValueError, match="X has 7 features"):
        jpca.transform(X[..., :7])
    with pytest.raises(ValueError, match="X has 9 times"):
        jpca.transform(X[:, :9])
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda x: JPCA(2).fit(x).components_)(X)
