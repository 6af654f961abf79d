"""Basins: two attractors of a circuit, and flows whose basins are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.basins import basins_of_attraction
from neurosim.analysis.normalization_fixed_points import fixed_points_2d


def double_well(x, xp=np):
    return xp.stack([x[:, 0] - x[:, 0] ** 3, -x[:, 1]], axis=1)


WELLS = np.array([[-1.0, 0], [0, 0], [1, 0]])


def test_two_attractors_of_a_circuit():
    found = fixed_points_2d(1.0, w=1.0, w_r=2.0, b=0.5, b0=0.5, sigma=0.1, tau_y=0.04, tau_a=0.002)
    points = np.stack([found.y, found.a], axis=1)

    def flow(x):
        y, a = x.T
        rate = np.maximum(a, 0)
        dy = (-y + 0.5 + (1 - np.sqrt(rate)) * 2 * y) / 0.04
        return np.stack([dy, (-a + 0.0025 + y**2 * rate) / 0.002], axis=1)

    basins = basins_of_attraction(
        flow, [[-1, 0.06], [0, 0.01]], points, dt=4e-4, n_steps=4000, tolerance=0.02
    )
    assert basins.labels.tolist() == [1, 0]
    np.testing.assert_allclose(basins.shares, [0.5, 0.5, 0])
    assert found.stable[:2].all()


@pytest.mark.parametrize("xp", [np, jnp])
def test_basins_of_a_double_well(xp):
    x = np.linspace(-2, 2, 9)
    grid = np.stack(np.meshgrid(x, [-1, 1]), axis=-1)

    basins = basins_of_attraction(lambda s: double_well(s, xp), grid, WELLS, dt=0.05, n_steps=2000)
    assert basins.labels.shape == (2, 9)
    assert basins.labels.tolist() == [[0] * 4 + [1] + [2] * 4] * 2
    np.testing.assert_allclose(basins.shares, [4 / 9, 1 / 9, 4 / 9])
    np.testing.assert_allclose(basins.states[:, :4, 0], -1, atol=1e-3)
    # It stops where nothing moves.
    assert basins.n_steps < 2000


def test_what_ends_nowhere_has_no_label():
    def flow(x):
        return np.stack([x[:, 0] ** 2 - 1, -x[:, 1]], axis=1)

    basins = basins_of_attraction(
        flow, [[-3.0, 0], [0.9, 1], [1.5, 0]], [[-1.0, 0]], dt=0.01, n_steps=3000
    )
    assert basins.labels.tolist() == [0, 0, -1]
    assert np.isfinite(basins.states).all()
    short = basins_of_attraction(double_well, [[0.1, 0]], WELLS, dt=0.01, n_steps=5)
    assert short.labels.tolist() == [-1]
    # A limit cycle is no fixed point.

    def circle(x):
        radius = 1 - np.sum(x**2, axis=1, keepdims=True)
        return radius * x + x[:, ::-1] * [-1, 1]

    assert basins_of_attraction(
        circle, [[0.5, 0], [0, 0]], [[0.0, 0]], dt=0.05, n_steps=500
    ).labels.tolist() == [-1, 0]


def test_scale_of_each_axis():
    def flow(x):
        return -x * [1, 0]

    start = [[0.0, 0.05]]
    narrow = basins_of_attraction(flow, start, [[0.0, 0]], dt=0.1, n_steps=1, tolerance=0.01)
    wide = basins_of_attraction(
        flow, start, [[0.0, 0]], dt=0.1, n_steps=1, tolerance=0.01, scale=[1, 10]
    )
    assert (narrow.labels[0], wide.labels[0]) == (-1, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flow": "tanh"}, "flow must be a function"),
        ({"flow": lambda x: x[:, 0]}, r"flow must return .* given \(1, 2\), it returned \(1,\)"),
        ({"flow": lambda x: x / 0 * 0}, "flow is not finite at start 0"),
        ({"starts": 1.0}, r"starts must be \(\.\.\., dim\)"),
        ({"starts": [[np.nan, 0]]}, "starts must be finite"),
        ({"fixed_points": [[0.0, 0, 0]]}, r"fixed_points must be \(label, dim\) with dim = 2"),
        ({"fixed_points": np.zeros((0, 2))}, "fixed_points must be"),
        ({"dt": 0.0}, "dt"),
        ({"n_steps": 0}, "n_steps"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"scale": [1.0, -1]}, "scale must be positive"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_bad_input(change, message, unchecked_signatures):
    given = {
        "flow": double_well, "starts": [[0.5, 0]], "fixed_points": WELLS, "dt": 0.1, "n_steps": 5,
    } | change  # fmt: skip
    with pytest.raises(ValueError, match=message):
        basins_of_attraction(
            given.pop("flow"), given.pop("starts"), given.pop("fixed_points"), **given
        )
