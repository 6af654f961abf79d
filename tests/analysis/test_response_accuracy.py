"""Responses whose correctness is known, their chance level, and Wilson's interval."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.response_accuracy import (
    accuracy_by_label,
    decode_population_angle,
    responses_correct,
)

PREFERRED = np.arange(32) * 2 * np.pi / 32
RNG = np.random.default_rng(0)


def bump(angle):
    distance = np.abs(np.angle(np.exp(1j * (np.asarray(angle)[..., None] - PREFERRED))))
    return 0.05 + 0.8 * np.exp(-((distance / (np.pi / 8)) ** 2) / 2)


def test_population_vector_points_where_the_bump_is():
    angle = np.linspace(-3.1, 3.1, 50)
    np.testing.assert_allclose(decode_population_angle(bump(angle), PREFERRED), angle, atol=1e-6)
    np.testing.assert_allclose(
        decode_population_angle(1e-3 * bump(angle[None]) - 1, PREFERRED), angle[None], atol=1e-6
    )
    # Two units: a vector of length 1 along 0 and one of length 1 along pi / 2.
    assert decode_population_angle([1, 1], [0, np.pi / 2]) == pytest.approx(np.pi / 4)
    assert decode_population_angle([1, -1], [0, np.pi / 2]) == pytest.approx(-np.pi / 4)


def test_a_population_without_a_direction_has_no_angle():
    rates = np.stack([np.zeros(32), np.full(32, 0.3), bump(1.0), bump(1.0), bump(1.0)])
    rates[3, 4], rates[4, 5:20] = np.nan, np.inf
    nowhere = [True, True, False, True, True]
    np.testing.assert_array_equal(np.isnan(decode_population_angle(rates, PREFERRED)), nowhere)
    in_jax = jax.jit(decode_population_angle)(jnp.asarray(rates), PREFERRED)
    assert isinstance(in_jax, jax.Array)
    np.testing.assert_array_equal(np.isnan(in_jax), nowhere)
    np.testing.assert_allclose(in_jax[2], 1, rtol=1e-5)
    # d angle / d rate of one of two units at right angles, at lengths 1 and 1.
    two = jnp.array([0, np.pi / 2])
    slope = jax.jit(jax.grad(lambda r: decode_population_angle(r, two)))(jnp.ones(2))
    np.testing.assert_allclose(slope, [-0.5, 0.5], rtol=1e-5)
    gradient = jax.jit(jax.grad(lambda r: jnp.nansum(decode_population_angle(r, PREFERRED))))
    assert jnp.isfinite(gradient(jnp.asarray(rates))).all()


def test_chance_is_a_tenth_with_a_window_of_eighteen_degrees():
    # Every offset between response and angle equally often: the exact share within pi / 10.
    right = np.repeat(np.linspace(0, 2 * np.pi, 16, endpoint=False), 1000)
    response = right + np.tile((np.arange(1000) + 0.5) * 2 * np.pi / 1000, 16)
    correct = responses_correct(np.zeros(16_000), response, right_angle=right, respond=True)
    assert correct.dtype == bool
    assert correct.mean() == pytest.approx(0.1, abs=1e-12)
    response, right = RNG.uniform(0, 2 * np.pi, (2, 100_000))
    options = {"right_angle": right, "respond": True}
    share = responses_correct(np.zeros(100_000), response, **options).mean()
    assert share == pytest.approx(0.1, abs=4 * 0.3 / 100_000**0.5)
    # Of angles from the arctangent of a quotient, which is blind to half a turn and jumps at a
    # quarter, two within the window by chance: 2 / 10 - 1 / 100.
    folded = [np.arctan(np.tan(x)) for x in (response, right)]
    blind = np.mean(np.abs(folded[0] - folded[1]) < np.pi / 10)
    assert blind == pytest.approx(0.19, abs=4 * 0.4 / 100_000**0.5)
    wide = responses_correct(np.zeros(100_000), response, tolerance=np.pi / 5, **options).mean()
    assert wide == pytest.approx(0.2, abs=4 * 0.4 / 100_000**0.5)


def test_anti_responses_on_a_pro_task_are_wrong():
    angle = RNG.uniform(0, 2 * np.pi, 1000)
    fixation = np.full(1000, 0.1)
    anti = responses_correct(fixation, angle + np.pi, right_angle=angle, respond=True)
    assert anti.sum() == 0
    near = angle + RNG.uniform(-0.2, 0.2, 1000)
    assert responses_correct(fixation, near, right_angle=angle, respond=True).all()
    # The arctangent of a quotient parts those on two sides of its jump: .1 of pi, on average.
    rng = np.random.default_rng(1)
    angle, off = rng.uniform(0, 2 * np.pi, 100_000), rng.uniform(-0.2, 0.2, 100_000)
    folded = [np.arctan(np.tan(x)) for x in (angle, angle + off)]
    share = np.mean(np.abs(folded[0] - folded[1]) < np.pi / 10)
    assert share == pytest.approx(0.968, abs=4 * 0.18 / 100_000**0.5)
    assert responses_correct(np.zeros(100_000), angle + off, right_angle=angle, respond=True).all()
    # Either side of the wrap.
    assert responses_correct(0.0, 3.1, right_angle=-3.1, respond=True)


def test_fixation_decides_where_no_response_is_due():
    nan = np.nan
    rows = [
        # fixation, angle, right angle, respond, correct
        (0.1, 1.0, 1.0, True, True),
        (0.5, 1.0, 1.0, True, True),  # at the threshold fixation is left
        (0.6, 1.0, 1.0, True, False),
        (0.1, 2.0, 1.0, True, False),
        (0.1, nan, 1.0, True, False),
        (nan, 1.0, 1.0, True, False),
        (0.8, nan, nan, False, True),
        (0.8, 2.0, 1.0, False, True),
        (0.5, 2.0, 1.0, False, False),
        (0.1, 1.0, 1.0, False, False),
        (nan, 1.0, nan, False, False),
    ]
    fixation, angle, right, respond, expected = (np.array(column) for column in zip(*rows))
    options = {"right_angle": right, "respond": respond}
    correct = responses_correct(fixation, angle, **options)
    np.testing.assert_array_equal(correct, expected)
    in_jax = jax.jit(responses_correct)(jnp.asarray(fixation), jnp.asarray(angle), **options)
    assert isinstance(in_jax, jax.Array)
    assert in_jax.dtype == bool
    np.testing.assert_array_equal(in_jax, expected)
    lower = responses_correct(fixation, angle, fixation_threshold=0.05, **options)
    np.testing.assert_array_equal(lower, [False] * 6 + [True] * 4 + [False])


GIVEN = {"right_angle": np.zeros(3), "respond": True}


@pytest.mark.parametrize(
    ("fixation", "angle", "options", "message"),
    [
        (np.zeros(3), np.zeros(2), GIVEN, r"angle must have the shape of fixation, \(3,\)"),
        (np.zeros(3), 0.0, GIVEN, "angle must have the shape of fixation"),
        (np.zeros(2), np.zeros(2), GIVEN, "right_angle must have the shape"),
        (np.zeros(0), np.zeros(0), {**GIVEN, "right_angle": 0.0}, "fixation is empty"),
        (np.zeros(3), np.zeros(3), {**GIVEN, "right_angle": np.nan}, "right_angle must be finite"),
        (np.zeros(3), np.zeros(3), {**GIVEN, "respond": [0, 1, 2]}, "respond must be true or"),
        (np.zeros(3), np.zeros(3), {**GIVEN, "respond": [True]}, "respond must have the shape"),
        (np.zeros(3), np.zeros(3), {**GIVEN, "tolerance": 0.0}, "tolerance must be positive"),
        (np.zeros(3), np.zeros(3), {**GIVEN, "fixation_threshold": np.nan}, "fixation_threshold"),
        (np.ma.masked_equal(np.zeros(3), 0), np.zeros(3), GIVEN, "fixation is a masked array"),
    ],
)
def test_bad_responses_are_refused(fixation, angle, options, message):
    with pytest.raises(ValueError, match=message):
        responses_correct(fixation, angle, **options)


@pytest.mark.parametrize(
    ("rates", "preferred", "message"),
    [
        (np.zeros((4, 3)), np.zeros(4), r"got \(4, 3\) and \(4,\)"),
        (np.zeros((4, 0)), np.zeros(0), "are needed"),
        (1.0, np.zeros(1), "are needed"),
        (np.zeros(3), np.array([0, 1, np.nan]), "preferred must be finite"),
        (np.ma.masked_equal(np.zeros(3), 0), np.zeros(3), "rates is a masked array"),
    ],
)
def test_bad_populations_are_refused(rates, preferred, message):
    with pytest.raises(ValueError, match=message):
        decode_population_angle(rates, preferred)


def test_accuracy_of_each_label_with_wilsons_interval():
    # Eight of ten, and none of ten: textbook values of the 95 % interval.
    correct = np.array([True] * 8 + [False] * 2 + [False] * 10)
    labels = np.array(["pro"] * 10 + ["anti"] * 10)
    found = accuracy_by_label(correct, labels)
    assert list(found) == ["anti", "pro"]
    pro, anti = found["pro"], found["anti"]
    assert (pro.accuracy, pro.n_correct, pro.n_trials) == (0.8, 8, 10)
    assert (pro.low, pro.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert anti.low == anti.accuracy == 0
    # z^2 / (n + z^2)
    assert anti.high == pytest.approx(1.959964**2 / (10 + 1.959964**2), abs=1e-6)
    for n in range(1, 40):
        assert accuracy_by_label(np.zeros(n), np.zeros(n))[0].low == 0
        assert accuracy_by_label(np.ones(n), np.zeros(n))[0].high == 1
    all_right = accuracy_by_label(~correct, labels)["anti"]
    assert (all_right.high, all_right.accuracy) == (1, 1)
    assert all_right.low == pytest.approx(1 - anti.high)
    wider = accuracy_by_label(correct, labels, confidence=0.99)["pro"]
    assert wider.low < pro.low < pro.high < wider.high
    by_number = accuracy_by_label(jnp.asarray(correct), jnp.arange(20) // 10)
    assert by_number == {0: pro, 1: anti}
    assert accuracy_by_label([1, 0], [0.5, 0.5])[0.5].accuracy == 0.5


@pytest.mark.parametrize(
    ("correct", "labels", "options", "message"),
    [
        ([True, False], [1, 2, 3], {}, r"\(trials,\), not empty, got \(2,\) and \(3,\)"),
        ([], [], {}, "not empty"),
        ([0.5, 1], [1, 2], {}, "correct must be true or false"),
        ([True, False], [1, np.nan], {}, "labels is NaN for trial 1"),
        ([True, False], np.ma.masked_equal([1, 2], 2), {}, "labels is a masked array"),
        ([True, False], [1, 2], {"confidence": 1.0}, "confidence must be a number between"),
        ([True, False], [1, 2], {"confidence": "a"}, "confidence must be a number between.*'a'"),
        ([True, False], [1, "pro"], {}, "labels must be all numbers or all strings, got int and"),
        ([True, False], np.array([1, "pro"], object), {}, "all numbers or all strings"),
        ([True, False], ["pro", None], {}, "labels is missing for trial 1: got None"),
        ([True, False], [1, None], {}, "labels is missing for trial 1"),
        ([True, False], ["pro", np.nan], {}, "labels is missing for trial 1"),
        ([True, False], None, {}, "labels must both be"),
    ],
)
def test_bad_labels_are_refused(correct, labels, options, message):
    with pytest.raises(ValueError, match=message):
        accuracy_by_label(correct, labels, **options)


def test_labels_may_be_python_objects_of_one_kind():
    for labels in (["a", "b"], np.array(["a", "b"], object), [1, 2.5], np.array([1, 2], object)):
        assert len(accuracy_by_label([True, False], labels)) == 2


def test_values_that_are_not_known_yet_are_refused():
    with pytest.raises(TypeError, match="accuracy_by_label is computed in NumPy"):
        jax.jit(lambda x: accuracy_by_label(x, [1, 2])[1].accuracy)(jnp.ones(2))
