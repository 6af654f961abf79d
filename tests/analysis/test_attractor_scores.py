"""Rings and lines made to measure."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.attractor_scores import line_score, ring_score

RNG = np.random.default_rng(0)
THETA = np.linspace(0, 2 * np.pi, 24, endpoint=False)
FRAME = np.linalg.qr(RNG.normal(size=(20, 3)))[0].T
RING = 3 * np.stack([np.cos(THETA), np.sin(THETA)], axis=1) @ FRAME[:2] + 7


def test_a_round_ring_scores_one_whichever_way_it_goes():
    for angles in (THETA, THETA + 1, -THETA):
        score = ring_score(RING, angles)
        assert score.score == pytest.approx(1, abs=1e-6)
        assert score.explained_variance_ratio == pytest.approx(1)
        assert abs(score.correlation) == score.score
        assert isinstance(score.score, float)
    assert ring_score(RING, THETA).correlation == -ring_score(RING, -THETA).correlation
    turns = np.diff(np.unwrap(ring_score(RING, THETA).state_angles))
    np.testing.assert_allclose(np.abs(turns), 2 * np.pi / 24, atol=1e-6)


def test_a_third_direction_takes_its_share_of_the_variance():
    # A ring of variance 1 in two directions, and 1/2 across: with angles still in order.
    across = np.outer(np.where(np.arange(24) % 2, 0.5**0.5, -(0.5**0.5)), FRAME[2])
    score = ring_score(RING / 3 * 2**0.5 + across, THETA)
    assert score.score == pytest.approx(1, abs=1e-6)
    assert score.explained_variance_ratio == pytest.approx(2 / 2.5)


def test_states_that_do_not_follow_the_angle_score_low():
    shuffled = [ring_score(RING, RNG.permutation(THETA)).score for _ in range(40)]
    # A correlation of 24 independent pairs has a standard deviation near .2.
    assert np.mean(shuffled) < 0.3
    # Round twice while the angle goes round once.
    twice = np.stack([np.cos(2 * THETA), np.sin(2 * THETA)], axis=1) @ FRAME[:2]
    assert ring_score(twice, THETA).score == pytest.approx(0, abs=1e-6)


def test_ring_in_jax_with_a_derivative():
    ellipse = (RING - 7) @ np.diag(1 + 0.02 * np.arange(20)) + 0.1 * RNG.normal(size=RING.shape)
    score = ring_score(jnp.asarray(ellipse), jnp.asarray(THETA))
    assert isinstance(score.correlation, jax.Array)
    np.testing.assert_allclose(score.score, ring_score(ellipse, THETA).score, atol=1e-4)
    with jax.enable_x64(True):
        x, way = jnp.asarray(ellipse), jnp.asarray(RNG.normal(size=ellipse.shape))

        @jax.jit
        def correlation(x):
            return ring_score(x, jnp.asarray(THETA)).correlation

        _, slope = jax.jvp(correlation, (x,), (way,))
        h = 1e-6
        expected = (correlation(x + h * way) - correlation(x - h * way)) / (2 * h)
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-9)


VALUES = np.array([-10.0, -5, 0, 5, 10, 3])


@pytest.mark.parametrize("warp", [lambda v: v, lambda v: np.exp(v / 3), lambda v: -(v**3)])
def test_a_line_scores_one_however_unevenly_it_is_filled(warp):
    states = np.outer(warp(VALUES), FRAME[0]) + 5
    score = line_score(states, VALUES)
    assert score.score == pytest.approx(1, abs=1e-12)
    assert score.explained_variance_ratio == pytest.approx(1)
    # The projections are the places on the line, up to sign, about their mean.
    expected = warp(VALUES) - warp(VALUES).mean()
    assert np.abs(score.projections) == pytest.approx(np.abs(expected), rel=1e-9)


def test_spearman_with_ties_and_of_disordered_states():
    # States on one axis, whose loading is positive: ranks 1 2 3 4 against 2 1 4 3, so .6.
    states = np.array([[1.0, 0], [2, 0], [3, 0], [4, 0]])
    swapped = line_score(states, [2, 1, 4, 3])
    assert swapped.correlation == pytest.approx(1 - 6 * 4 / (4 * 15))
    assert line_score(states, [-2, -1, -4, -3]).correlation == pytest.approx(-0.6)
    # Equal values in equal states, many times over, in a direction where rounding would order them.
    values = np.repeat(VALUES, 5)
    assert line_score(np.outer(values, FRAME[1]) + 1e3, values).score == pytest.approx(1, abs=1e-12)
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    assert line_score(states, [1, 2, 2, 3]).score == pytest.approx(4.5 / np.sqrt(4.5 * 5))


def test_line_beside_a_smaller_disturbance_and_for_jax():
    rng = np.random.default_rng(1)
    values = rng.normal(size=200)
    states = np.outer(values, FRAME[0]) + 0.1 * rng.normal(size=(200, 20))
    score = line_score(states, values)
    # One direction of variance 1 among twenty of .01.
    assert score.explained_variance_ratio == pytest.approx(1.01 / 1.2, abs=0.03)
    assert score.score > 0.98
    in_jax = line_score(jnp.asarray(states), jnp.asarray(values))
    assert isinstance(in_jax.score, float)
    assert in_jax.score == pytest.approx(score.score, abs=1e-3)
    assert line_score(1e-20 * states, values).score == pytest.approx(score.score)


@pytest.mark.parametrize("score", [ring_score, line_score])
@pytest.mark.parametrize(
    ("states", "labels", "message"),
    [
        (RING[None], THETA, r"states must be \(trials, units\).*\(1, 24, 20\)"),
        (RING, THETA[:3], "one number for each of the 24 trials"),
        (RING[:3], THETA[:3], "at least four trials are needed, got 3"),
        (np.where(RING > 8, np.nan, RING), THETA, "states holds .* not finite"),
        (RING, np.where(THETA > 6, np.nan, THETA), "must be finite"),
        (np.full((24, 20), 0.1), THETA, "states do not vary"),
        (RING, np.full(24, 0.1), "do not vary"),
        (np.ma.masked_greater(RING, 8), THETA, "states is a masked array"),
    ],
)
def test_bad_states_are_refused(score, states, labels, message):
    with pytest.raises(ValueError, match=message):
        score(states, labels)


def test_states_that_cannot_lie_on_a_ring_are_refused():
    with pytest.raises(ValueError, match=r"^angles do not vary: they are all equal or opposite"):
        ring_score(RING, np.full(24, 0.1))
    line = np.outer(THETA - 3, FRAME[0])
    with pytest.raises(ValueError, match=r"^the angles of the states do not vary"):
        ring_score(line, THETA)
    with pytest.raises(ValueError, match="at least two units"):
        ring_score(RING[:, :1], THETA)
    centre = np.concatenate([RING, np.full((1, 20), 7.0)])
    with pytest.raises(ValueError, match="trial 24 lies at the centre"):
        ring_score(centre, np.append(THETA, 0))


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_scores_do_not_depend_on_the_scale_of_states(scale):
    ring = ring_score(RING * scale, THETA)
    assert ring.score == pytest.approx(1, abs=1e-6)
    plain = ring_score(RING, THETA)
    assert ring.explained_variance_ratio == pytest.approx(plain.explained_variance_ratio)
    line = np.outer(THETA**3, FRAME[0]) + FRAME[1]
    assert line_score(line * scale, THETA).score == pytest.approx(1)


def test_values_that_are_not_known_yet_are_refused():
    with pytest.raises(TypeError, match="line_score is computed in NumPy"):
        jax.jit(lambda x: line_score(x, THETA).score)(jnp.asarray(RING))
