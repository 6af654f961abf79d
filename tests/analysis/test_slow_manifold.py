import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.fixed_points import find_fixed_points
from neurosim.analysis.slow_manifold import slow_manifold


def _ring(x, drift=0.0):
    """r' = r (1 - r^2), theta' = drift."""
    return x * (1 - x @ x) + drift * jnp.stack([-x[1], x[0]])


@pytest.mark.parametrize("double", [False, True])
def test_line_of_a_map(double):
    W = np.array([[0.8, 0.2], [0.2, 0.8]])
    with jax.enable_x64(double):
        # Brought to the line along its fast direction, (1, -1).
        walked = slow_manifold(
            lambda x: W @ x,
            np.array([0.7, 0.1]),
            kind="map",
            step=0.1,
            largest_speed=1e-6,
            n_steps=5,
        )
    expected = np.outer(np.linspace(-0.5, 0.5, 11) + 0.4 * 2**0.5, [1, 1]) / 2**0.5
    np.testing.assert_allclose(walked.points, expected, atol=1e-10)
    np.testing.assert_allclose(walked.tangent, np.full((11, 2), 0.5**0.5))
    np.testing.assert_allclose(walked.eigenvalue, 1)
    np.testing.assert_allclose(walked.speed, 0, atol=1e-12)
    np.testing.assert_allclose(walked.arclength, np.arange(11) / 10)
    assert walked.length == pytest.approx(1)
    assert walked.ends == ("steps", "steps")
    assert walked.start == 5
    assert not walked.closed


@pytest.mark.parametrize("kind", ["flow", "map"])
@pytest.mark.parametrize("n", [2, 5])
def test_ring_attractor(kind, n):
    """In a plane of more dimensions, which decay."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]

    def flow(x):
        y = basis.T @ x
        return basis @ jnp.concatenate([_ring(y[:2]), -(1 + jnp.arange(n - 2)) * y[2:]])

    f = flow if kind == "flow" else lambda x: x + 0.3 * flow(x)
    found = find_fixed_points(f, np.random.default_rng(1).normal(size=(20, n)), kind=kind)
    ring = found.points[found.continuous][0]
    walked = slow_manifold(f, ring, kind=kind, step=0.1, largest_speed=1e-6)
    assert walked.closed
    assert walked.ends == ("closed", "closed")
    assert walked.length == pytest.approx(2 * np.pi, rel=1e-9)
    y = walked.points @ basis
    np.testing.assert_allclose(np.linalg.norm(y[:, :2], axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(y[:, 2:], 0, atol=1e-6)
    np.testing.assert_allclose(walked.eigenvalue, 1 if kind == "map" else 0, atol=1e-9)
    # Once round, in order, and no further.
    turned = np.unwrap(np.arctan2(y[:, 1], y[:, 0]))
    steps = np.sign(turned[-1] - turned[0]) * np.diff(turned)
    assert steps.min() > 0
    assert 2 * np.pi - 0.16 < abs(turned[-1] - turned[0]) < 2 * np.pi
    np.testing.assert_allclose(walked.arclength, np.abs(turned - turned[0]), atol=1e-8)
    radial = np.sum(y[:, :2] * (walked.tangent @ basis)[:, :2], axis=1)
    np.testing.assert_allclose(radial, 0, atol=1e-8)


@pytest.mark.parametrize("drift", [0.01, -0.05, 0.5])
def test_slow_ring(drift):
    """F is along an eigenvector where r^4 = 1 + drift^2; its eigenvalue is 2 (1 - r^2)."""

    def f(x):
        return _ring(x, drift)

    walked = slow_manifold(f, np.array([0.0, 1.05]), kind="flow", step=0.1, largest_speed=1.0)
    r = (1 + drift**2) ** 0.25
    assert walked.closed
    np.testing.assert_allclose(np.linalg.norm(walked.points, axis=1), r, rtol=1e-9)
    assert walked.length == pytest.approx(2 * np.pi * r, rel=1e-8)
    np.testing.assert_allclose(walked.speed, np.hypot(r * (1 - r**2), drift * r), rtol=1e-7)
    np.testing.assert_allclose(walked.eigenvalue, 2 * (1 - r**2), rtol=1e-5)
    # The drift is along the walk or against it, wherever it went.
    np.testing.assert_allclose(np.abs(walked.drift), walked.speed, rtol=1e-9)
    cross = walked.points[:, 0] * walked.tangent[:, 1] - walked.points[:, 1] * walked.tangent[:, 0]
    np.testing.assert_array_equal(np.sign(walked.drift), np.sign(cross * drift))


def test_curved_line_ends_where_it_is_no_longer_slow():
    """x' = a x, y' = x^2 - y: F is along the slow eigenvector on y = x^2 (1 - a) / (1 + a)."""
    a = 1e-3
    walked = slow_manifold(
        lambda s: {"x": a * s["x"], "y": s["x"] ** 2 - s["y"]},
        {"x": np.zeros(1), "y": np.zeros(1)},
        kind="flow",
        step=0.05,
        largest_speed=5e-3,
    )
    x, y = walked.points["x"][:, 0], walked.points["y"][:, 0]
    c = (1 - a) / (1 + a)
    np.testing.assert_allclose(y, c * x**2, atol=1e-9)
    assert walked.ends == ("speed", "speed")
    assert walked.speed.max() <= 5e-3
    # On the line F = a x (1, 2 x / (1 + a)), and the next step would have exceeded the bound.
    expected = a * np.abs(x) * np.hypot(1, 2 * x / (1 + a))
    np.testing.assert_allclose(walked.speed, expected, rtol=1e-6, atol=1e-12)
    beyond = np.abs(x[[0, -1]]) + 0.05
    assert (a * beyond * np.hypot(1, 2 * beyond) > 5e-3).all()
    np.testing.assert_allclose(walked.eigenvalue, a)
    assert x[walked.start] == pytest.approx(0, abs=1e-9)

    def parabola(x):
        t = 2 * c * x
        return (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / (4 * c)

    np.testing.assert_allclose(walked.arclength, np.abs(parabola(x) - parabola(x[0])), rtol=1e-3)


def test_where_the_line_ends_otherwise():
    def decay(x):
        return -1e-3 * x

    single = slow_manifold(
        decay, np.ones(1), kind="flow", step=0.5, largest_speed=2.2e-3, n_steps=3
    )
    assert single.ends == ("steps", "speed")
    np.testing.assert_allclose(single.points[:, 0], [-0.5, 0, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(single.drift, -1e-3 * single.points[:, 0], atol=1e-15)

    # A line that runs into a spiral.
    def spiral(s):
        turn = jnp.where(s[0] > 0.32, 5.0, 0.0) * jnp.stack([-s[1], s[0] - 0.32])
        return turn + jnp.stack([0 * s[0], -s[1]])

    walked = slow_manifold(
        spiral, np.zeros(2), kind="flow", step=0.1, largest_speed=1.0, n_steps=40
    )
    assert walked.ends == ("steps", "no line")
    assert walked.points[-1, 0] == pytest.approx(0.32, abs=1e-3)

    # A map whose slope jumps: no step leads round the corner.
    def corner(s):
        return jnp.stack([s[0], jnp.where(s[0] > 0.32, 3.0 * (s[0] - 0.32), 0.0)])

    walked = slow_manifold(corner, np.zeros(2), kind="map", step=0.1, largest_speed=1.0, n_steps=40)
    assert walked.ends == ("steps", "lost")
    assert walked.points[-1, 0] == pytest.approx(0.32, abs=1e-3)


def test_refusals():
    def refused(match, f=lambda x: jnp.array([0.0, -1]) * x, start=(0.0, 0), **options):
        options = {"kind": "flow", "step": 0.1, "largest_speed": 1e-3, **options}
        with pytest.raises(ValueError, match=match):
            slow_manifold(f, np.array(start), **options)

    refused("'map' or 'flow', got 'ode'", kind="ode")
    refused("step must be positive", step=0)
    refused("largest_speed must be positive", largest_speed=-1.0)
    refused("n_steps", n_steps=0)
    refused("start must be finite", start=(np.nan, 0))
    refused("must return what it is given", f=lambda x: x[:1])
    refused("belongs to a rotation", f=lambda x: jnp.stack([x[1], -x[0]]))
    refused("slow in more than one direction", f=lambda x: 0 * x)
    refused("its speed is 1, above largest_speed", f=lambda x: jnp.stack([1 + 0 * x[0], -x[1]]))
    refused("F along its slow direction", f=jnp.log, start=(-1.0, 1))
    with pytest.raises(ValueError, match="masked"):
        slow_manifold(
            lambda x: -x, np.ma.array([1.0], mask=[True]), kind="flow", step=1, largest_speed=1
        )
    with pytest.raises(TypeError, match="jit"):
        jax.jit(
            lambda x: slow_manifold(lambda x: -x, x, kind="flow", step=1, largest_speed=1).points
        )(jnp.zeros(2))
