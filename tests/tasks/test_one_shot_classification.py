"""One-shot classification: a reader of the examples answers every question."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.one_shot_classification import OneShotClassification

KEY = jax.random.key(0)


def test_published_layout():
    task = OneShotClassification()
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (7, 3, 60)
    trials = jax.jit(task.sample, static_argnums=1)(KEY, 40)
    inputs = np.asarray(trials.inputs)
    # Items are held for 10 steps, all channels with them.
    items = inputs.reshape(40, 6, 10, 7)
    assert np.all(items == items[:, :, :1])
    np.testing.assert_array_equal(items[:, :, 0, 6], np.broadcast_to([1, 1, 1, 0, 0, 0], (40, 6)))
    assert np.all(items[:, 3:, 0, 3:6] == 0)
    # Each label once, in every order.
    labels = items[:, :3, 0, 3:6].argmax(axis=2)
    assert np.all(items[:, :3, 0, 3:6].sum(axis=2) == 1)
    assert np.all(np.sort(labels, axis=1) == [0, 1, 2])
    assert len(np.unique(labels, axis=0)) == 6
    np.testing.assert_array_equal(labels, trials.info["labels"])
    np.testing.assert_array_equal(trials.info["response_steps"][0], [39, 49, 59])
    mask = np.zeros((40, 60, 3))
    mask[:, [39, 49, 59]] = 1
    np.testing.assert_array_equal(trials.mask, mask)


def test_matching_items_to_examples_gives_the_targets():
    trials = OneShotClassification(item_steps=2).sample(KEY, 200)
    inputs, targets = np.asarray(trials.inputs)[:, ::2], np.asarray(trials.targets)
    similarity = np.einsum("bic,bjc->bij", inputs[:, 3:, :3], inputs[:, :3, :3])
    answers = np.take_along_axis(inputs[:, :3, 3:6].argmax(2), similarity.argmax(2), axis=1)
    asked = targets[:, [7, 9, 11]]
    np.testing.assert_array_equal(asked.argmax(axis=2), answers)
    np.testing.assert_array_equal(answers, trials.info["answers"])
    assert np.all(asked.sum(axis=2) == 1)
    assert targets.sum() == 600
    assert len(np.unique(np.asarray(trials.info["queries"]), axis=0)) == 6


@pytest.mark.parametrize(("noise_std", "expected"), [(1.0, 0.634), (0.1, 1.0), (0.0, 1.0)])
def test_bayes_classifier(noise_std, expected):
    task = OneShotClassification(noise_std=noise_std, item_steps=1)
    assert task.bayes_accuracy == pytest.approx(expected, abs=5e-4)
    trials = task.sample(KEY, 5000)
    items = np.asarray(trials.inputs)[:, 3:, :3]
    right = items.argmax(axis=2) == np.asarray(trials.info["queries"])
    assert right.mean() == pytest.approx(expected, abs=4 * np.sqrt(0.24 / right.size) + 5e-4)


def test_noise_is_one_draw_an_item():
    trials = OneShotClassification(noise_std=0.3, item_steps=1).sample(KEY, 3000)
    classes = np.concatenate(
        [np.broadcast_to([0, 1, 2], (3000, 3)), np.asarray(trials.info["queries"])], axis=1
    )
    noise = np.asarray(trials.inputs)[..., :3] - np.eye(3)[classes]
    assert noise.std() == pytest.approx(0.3, rel=4 / np.sqrt(2 * noise.size))
    correlation = np.corrcoef(noise.reshape(3000, 18), rowvar=False) - np.eye(18)
    assert np.abs(correlation).max() < 5 / np.sqrt(3000)


def test_a_trial_does_not_change_when_the_batch_grows():
    task = OneShotClassification(n_classes=4, item_steps=2)
    few, many = (task.sample(jax.random.key(3), n) for n in (2, 5))
    np.testing.assert_array_equal(few.inputs, many.inputs[:2])
    np.testing.assert_array_equal(few.targets, many.targets[:2])


def test_double_precision():
    with jax.enable_x64(True):
        trials = OneShotClassification(item_steps=1).sample(KEY, 2)
        assert trials.inputs.dtype == trials.targets.dtype == trials.mask.dtype == jnp.float64


def test_bad_fields_are_named():
    for fields, message in (
        ({"dt": 0}, "dt must be"),
        ({"n_classes": 1}, "n_classes must be at least 2"),
        ({"item_steps": 0}, "item_steps must be at least 1"),
        ({"noise_std": -0.1}, "noise_std must be"),
        ({"noise_std": float("nan")}, "noise_std must be"),
    ):
        with pytest.raises(ValueError, match=message):
            OneShotClassification(**fields)
