"""Fixed points sought in kappa: closed forms, the whole network, the pitchfork under a gain."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from neurosim.analysis.fixed_points import find_fixed_points
from neurosim.analysis.gain_theory import mean_field_overlap
from neurosim.analysis.low_rank_fixed_points import reduced_fixed_points
from neurosim.analysis.poincare_hopf import poincare_hopf_sum
from neurosim.analysis.low_rank_reduction import exact_reduction

KEY = jax.random.key(0)


def identity(x):
    return x


def test_a_linear_network_rests_where_its_closed_form_says():
    """kappa = (I - S R^T L)^-1 S R^T B u, one point whose stability is that of the modes."""
    rng = np.random.default_rng(0)
    L, R, B = rng.normal(size=(3, 9, 2)) / 3
    s, u = np.array([0.9, 0.3]), np.array([2.0, -1.0])
    for g, stable in ((1.0, True), (30.0, False)):
        found = reduced_fixed_points(
            L, R, gains=s, B=B, input=u, tau=5.0, phi=identity, rec_scale=g, key=KEY
        )
        small = g * np.diag(s) @ R.T
        kappa = np.linalg.solve(np.eye(2) - small @ L, small @ B @ u)
        assert len(found) == 1
        np.testing.assert_allclose(found.kappa, [kappa], rtol=1e-9)
        np.testing.assert_allclose(found.states, [L @ kappa + B @ u], rtol=1e-9)
        whole = np.linalg.eigvals(-np.eye(9) + g * L @ np.diag(s) @ R.T) / 5
        np.testing.assert_allclose(
            np.sort_complex(found.eigenvalues[0]), np.sort_complex(whole), rtol=0, atol=1e-12
        )
        assert np.all(np.diff(found.eigenvalues[0].real) <= 0)
        assert found.stable.tolist() == [stable] == [bool((whole.real < 0).all())]
        assert found.residual.max() < 1e-10
        assert found.kappa.dtype == np.float64
        assert found.n_starts.sum() == 256


def test_without_gains_the_input_alone_decides():
    L, R, B, _ = network(0)
    found = reduced_fixed_points(L, R, gains=0.0, B=B, input=np.ones(1), tau=2.0, key=KEY)
    np.testing.assert_array_equal(found.kappa, [[0, 0]])
    np.testing.assert_allclose(found.states, [B.sum(axis=1)], rtol=1e-14)
    np.testing.assert_array_equal(found.eigenvalues, np.full((1, 8), -0.5))
    assert found.stable.tolist() == [True]


def pitchfork_network(n_units=200, overlap=2.0):
    """Rank 1 with l r / N = `overlap`, l and r of unit variance apart from that."""
    rng = np.random.default_rng(0)
    left, noise = rng.normal(size=(2, n_units))
    left /= np.sqrt(np.mean(left**2))
    noise -= np.mean(noise * left) * left
    return left[:, None], (overlap * left + noise)[:, None]


@pytest.mark.parametrize(("s", "n_points"), [(0.4, 1), (0.75, 3), (1.0, 3)])
def test_a_gain_drives_a_pitchfork(s, n_points):
    L, R = pitchfork_network()
    found = reduced_fixed_points(L, R, gains=s, tau=10.0, rec_scale="1/N", key=KEY)
    assert len(found) == n_points
    order = np.argsort(found.kappa[:, 0])
    kappa = found.kappa[order, 0]
    origin = order[n_points // 2]
    np.testing.assert_allclose(found.kappa[origin], 0, atol=1e-9)
    assert found.eigenvalues[origin, 0].real == pytest.approx((2 * s - 1) / 10, rel=1e-9)
    assert bool(found.stable[origin]) == (n_points == 1)
    if n_points == 1:
        return

    # A scalar equation, solved by bisection.
    def excess(k):
        return s * np.mean(R[:, 0] * np.tanh(L[:, 0] * k)) - k

    root = scipy.optimize.brentq(excess, 0.1, 5.0, xtol=1e-14)
    np.testing.assert_allclose(kappa, [-root, 0, root], atol=1e-9)
    slope = s * np.mean(R[:, 0] * L[:, 0] / np.cosh(L[:, 0] * root) ** 2)
    for i in (order[0], order[2]):
        assert found.stable[i]
        leading = found.eigenvalues[i][np.argmin(np.abs(found.eigenvalues[i] + 0.1 - slope / 10))]
        assert leading.real == pytest.approx((slope - 1) / 10, abs=1e-9)
        assert np.sum(found.eigenvalues[i] == -0.1) == 199


def test_a_large_network_has_the_fixed_points_of_the_mean_field():
    L, R = pitchfork_network(4000, 2.007)
    for s, known in ((0.4, 0), (0.75, 0.857), (1.0, 1.356)):
        found = reduced_fixed_points(L, R, gains=s, rec_scale="1/N", key=KEY, warmup_steps=0)
        assert np.abs(found.kappa).max() == pytest.approx(known, abs=0.04)
        assert np.abs(found.kappa).max() == pytest.approx(mean_field_overlap(s * 2.007), abs=0.04)


class Whole(eqx.Module):
    """tau dx/dt of all units, its recurrent matrix written out."""

    W: jax.Array
    drive: jax.Array

    def __call__(self, x):
        return -x + self.W @ jnp.tanh(x) + self.drive


def network(seed):
    rng = np.random.default_rng(seed)
    L, R = rng.normal(size=(2, 8, 2))
    return L, R + 0.8 * L, rng.normal(size=(8, 1)), rng.uniform(0.5, 1, size=2)


@pytest.mark.parametrize("seed", [0, 3])
def test_all_points_of_the_whole_network_are_found_and_no_others(seed):
    L, R, B, s = network(seed)
    u = np.array([0.2])
    found = reduced_fixed_points(L, R, gains=s, B=B, input=u, key=KEY)
    with jax.enable_x64(True):
        flow = Whole(jnp.asarray(L @ np.diag(s) @ R.T), jnp.asarray(B @ u))
        rng = np.random.default_rng(0)
        wide = rng.uniform(-1, 1, size=(400, 2)) * np.abs(R).sum(axis=0)
        whole = find_fixed_points(
            flow, wide @ L.T + 0.1 * rng.normal(size=(400, 8)), kind="flow", warmup_steps=0
        )
        speed = jax.vmap(flow)(jnp.asarray(found.states))
    np.testing.assert_allclose(np.linalg.norm(speed, axis=1), found.residual, atol=1e-13)
    assert found.residual.max() < 1e-9
    assert len(found) == len(whole) == 5
    for i, x in enumerate(found.states):
        same = np.argmin(np.linalg.norm(whole.points - x, axis=1))
        np.testing.assert_allclose(whole.points[same], x, atol=1e-8)
        jacobian = np.asarray(flow.W) @ np.diag(1 - np.tanh(x) ** 2) - np.eye(8)
        np.testing.assert_allclose(
            np.sort_complex(found.eigenvalues[i]),
            np.sort_complex(np.linalg.eigvals(jacobian)),
            atol=1e-10,
        )
        assert found.stable[i] == whole.stable[same]
    assert str(found).count("not stable") == int((~found.stable).sum())


@pytest.mark.parametrize("seed", [2, 7])
def test_indices_add_up_to_one(seed):
    """All trajectories end in a ball, so over all fixed points the signs of det(-J) sum to 1."""
    L, R, B, s = network(seed)
    found = reduced_fixed_points(L, R, gains=s, B=B, input=np.array([0.2]), key=KEY)
    signs = np.sign(np.prod(-found.eigenvalues, axis=1).real)
    assert np.sum(signs) == poincare_hopf_sum(found.eigenvalues) == 1
    # A saddle of an odd number of units between two stable points.
    saddle = np.array([[-1, -1, -1], [1, -1, -1], [-1, -1, -1]], complex)
    assert poincare_hopf_sum(saddle) == 1
    assert poincare_hopf_sum(saddle[1:]) == 0
    # Without one of several points the sum is another.
    assert poincare_hopf_sum(found.eigenvalues[1:]) == 1 - signs[0]


def test_gauges_move_kappa_and_leave_states_alone():
    L, R, *_ = network(0)
    scale = np.array([2.0, -1.0])
    starts = 3 * np.random.default_rng(0).normal(size=(256, 2))
    before = reduced_fixed_points(L, R, starts=starts)
    after = reduced_fixed_points(L * scale, R / scale, starts=starts / scale)
    assert len(before) == len(after) >= 3
    for i, x in enumerate(before.states):
        same = np.argmin(np.linalg.norm(after.states - x, axis=1))
        np.testing.assert_allclose(after.states[same], x, atol=1e-8)
        np.testing.assert_allclose(after.kappa[same], before.kappa[i] / scale, atol=1e-8)


def test_a_line_of_fixed_points_is_one_continuum():
    """Linear, s l r = 1: the mode keeps whatever it holds."""
    L = np.eye(9)[:, :2]
    found = reduced_fixed_points(
        L, L, gains=np.array([1.0, 0.5]), tau=2.0, phi=identity,
        starts=np.random.default_rng(0).normal(size=(256, 2)),
    )  # fmt: skip
    assert found.continuous.tolist() == [True]
    assert found.stable.tolist() == [True]
    np.testing.assert_allclose(found.eigenvalues, [[0, -0.25] + 7 * [-0.5]], atol=1e-12)
    assert "continuum" in str(found)


def test_trials_end_where_fixed_points_are():
    """From the reduced variables along trials to the state they settle in."""
    L, R = pitchfork_network()
    run = exact_reduction(
        L, R, np.zeros((200, 0)), np.zeros((256, 0)), x0=0.3 * L[:, 0], tau=4.0, rec_scale="1/N"
    )
    found = reduced_fixed_points(L, R, rec_scale="1/N", starts=run.kappa[:256])
    distance = np.abs(found.kappa[found.stable] - run.kappa[-1]).min()
    assert distance < 1e-9


def test_jax_arrays_are_searched_in_the_precision_of_jax():
    L, R = (jnp.asarray(a, jnp.float32) for a in pitchfork_network())
    found = reduced_fixed_points(L, R, rec_scale="1/N", key=KEY, warmup_steps=0)
    assert found.kappa.dtype == np.float32
    assert len(found) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"R": np.ones((4, 3))}, "L and R must both be"),
        ({"gains": np.ones(3)}, "gains must have one entry"),
        ({"gains": np.ones((5, 2))}, "gains must be held"),
        ({"gains": np.nan}, "gains must be finite"),
        ({"B": np.ones((4, 1))}, "B and input go together"),
        ({"input": np.ones(1)}, "B and input go together"),
        ({"B": np.ones((4, 1)), "input": np.ones(2)}, r"input must be \(channel,\) = \(1,\)"),
        ({"B": np.ones((3, 1)), "input": np.ones(1)}, "B must be"),
        ({"tau": -1.0}, "tau must be"),
        ({"rec_scale": "unity"}, "rec_scale must be"),
        ({"rec_scale": None}, "rec_scale must be"),
        ({"key": None}, "give starts, or a key"),
        ({"n_starts": 0}, "n_starts must be"),
        ({"starts": np.ones((5, 3))}, r"starts must be \(start, rank\)"),
        ({"starts": np.ones((0, 2))}, "starts is empty"),
        ({"starts": np.full((3, 2), np.inf)}, "starts must be finite"),
        ({"uniqueness": 0.0}, "uniqueness must be positive"),
        ({"phi": jnp.sum}, "phi must act on every entry"),
        ({"phi": "tanh"}, "phi must be a function, such as"),
        ({"phi": lambda x: np.tanh(x)}, "phi cannot be traced: write it with jax.numpy"),
        ({"phi": lambda x: np.tanh(x), "starts": np.ones((5, 2))}, "phi cannot be .*jax.numpy"),
        ({"L": None}, "L is needed, got None"),
        ({"gains": None}, "gains is needed"),
        ({"n_starts": 2.5}, "n_starts must be a whole number, got 2.5"),
        ({"key": 0}, "key must be one key, as of jax.random.key"),
        ({"key": jax.random.split(KEY)}, "key must be one key"),
        ({"tolerence": 1.0}, "no option 'tolerence' of the search: it has .*'tolerance'"),
        ({"kind": "map"}, "no option 'kind'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, message):
    fields = {"L": np.ones((4, 2)), "R": np.ones((4, 2)), "key": KEY, **change}
    with pytest.raises(ValueError, match=message):
        reduced_fixed_points(**fields)


def test_values_that_are_not_known_yet_are_refused():
    def kappa(L):
        return reduced_fixed_points(L, L, key=KEY).kappa

    with pytest.raises(TypeError, match=r"reduced_fixed_points .* outside"):
        jax.jit(kappa)(jnp.ones((4, 2)))


def test_keys_of_the_old_style_draw_too():
    found = reduced_fixed_points(
        np.eye(3)[:, :1], np.zeros((3, 1)), n_starts=np.int64(4), key=jax.random.PRNGKey(0)
    )
    np.testing.assert_array_equal(found.kappa, [[0]])
