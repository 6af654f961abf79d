"""Digits as trials: the three presentations, the permutation, and training on many images."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from neurosim.models import LinearMap
from neurosim.tasks.digits import Digits
from neurosim.training import CheckpointError, fit, softmax_cross_entropy
from neurosim.training.accuracy import last_step_accuracy

KEY = jax.random.key(0)
IMAGES = np.arange(60, dtype=np.float32).reshape(5, 3, 4) / 60
LABELS = np.array([0, 3, 9, 1, 3])


@pytest.mark.parametrize(
    ("present", "steps", "channels"), [("image", 1, 12), ("rows", 3, 4), ("pixels", 12, 1)]
)
def test_presentations(present, steps, channels):
    task = Digits(IMAGES, LABELS, present=present, hold_steps=2)
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (channels, 10, 2 * steps)
    trials = task.trials()
    np.testing.assert_array_equal(trials.inputs[:, ::2], IMAGES.reshape(5, steps, channels))
    np.testing.assert_array_equal(trials.inputs[:, 1::2], trials.inputs[:, ::2])
    np.testing.assert_array_equal(trials.targets[:, -1], np.eye(10)[LABELS])
    assert not trials.targets[:, :-1].any()
    mask = np.zeros((5, 2 * steps, 10))
    mask[:, -1] = 1
    np.testing.assert_array_equal(trials.mask, mask)
    np.testing.assert_array_equal(trials.info["labels"], LABELS)


def test_permutation_is_one_for_all_images():
    plain = Digits(IMAGES, LABELS, present="pixels")
    task = dataclasses.replace(plain, permutation_seed=73)
    order = task.permutation
    assert sorted(order) == list(range(12))
    assert list(order) != list(range(12))
    np.testing.assert_array_equal(plain.permutation, np.arange(12))
    np.testing.assert_array_equal(task.trials().inputs[..., 0], IMAGES.reshape(5, 12)[:, order])
    # Rows are cut from the permuted pixels; channels of a whole image are permuted alike.
    for present in ("rows", "image"):
        other = dataclasses.replace(task, present=present)
        np.testing.assert_array_equal(
            np.asarray(other.trials().inputs).reshape(5, 12), task.trials().inputs[..., 0]
        )
    assert list(dataclasses.replace(task, permutation_seed=74).permutation) != list(order)


def test_images_are_drawn_with_replacement():
    task = Digits(IMAGES, LABELS)
    trials = task.sample(KEY, 2000)
    indices = np.asarray(trials.info["indices"])
    np.testing.assert_array_equal(trials.inputs[:, 0], IMAGES.reshape(5, 12)[indices])
    np.testing.assert_array_equal(trials.info["labels"], LABELS[indices])
    assert np.abs(np.bincount(indices, minlength=5) - 400).max() < 5 * np.sqrt(320)


def test_a_trial_does_not_change_when_the_batch_grows():
    few, many = (Digits(IMAGES, LABELS).sample(jax.random.key(3), n) for n in (2, 37))
    np.testing.assert_array_equal(few.inputs, many.inputs[:2])
    np.testing.assert_array_equal(few.targets, many.targets[:2])


def test_given_images_in_order():
    trials = Digits(IMAGES, LABELS, present="rows").trials([4, 0, 4])
    np.testing.assert_array_equal(trials.inputs, IMAGES[[4, 0, 4]])
    np.testing.assert_array_equal(trials.info["indices"], [4, 0, 4])
    for indices, message in (
        ([5], "from 0 to 4, got 5 to 5"),
        ([-1], "from 0 to 4"),
        (np.zeros(0, int), "not empty"),
        (np.ones(2), "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            Digits(IMAGES, LABELS).trials(indices)


def test_bytes_and_double_precision():
    with jax.enable_x64(True):
        trials = Digits(IMAGES, LABELS).trials()
        assert trials.inputs.dtype == trials.targets.dtype == trials.mask.dtype == jnp.float64
    task = Digits(np.arange(12, dtype=np.uint8).reshape(1, 3, 4), np.array([2], np.uint8))
    np.testing.assert_array_equal(task.trials().inputs[0, 0], np.arange(12))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"images": np.where(np.arange(60).reshape(5, 3, 4) == 25, np.nan, 0)}, "image 2 is not"),
        ({"images": IMAGES[0]}, r"got \(3, 4\) and \(5,\)"),
        ({"images": IMAGES[:4]}, r"got \(4, 3, 4\) and \(5,\)"),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "not empty"),
        ({"labels": LABELS[:, None]}, r"and \(5, 1\)"),
        ({"labels": LABELS / 2}, "labels must be whole numbers, got float"),
        ({"labels": LABELS + 1}, "from 0 to 9 for n_classes = 10, got 1 to 10"),
        ({"labels": LABELS - 1}, "got -1 to 8"),
        ({"n_classes": 3}, "from 0 to 2 for n_classes = 3"),
        ({"n_classes": 1}, "n_classes must be at least 2"),
        ({"present": "columns"}, "present must be one of"),
        ({"hold_steps": 0}, "hold_steps must be at least 1"),
        ({"permutation_seed": -3}, "permutation_seed must not be negative"),
        ({"dt": 0}, "dt must be"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        Digits(**({"images": IMAGES, "labels": LABELS} | fields))


def test_images_are_arguments_of_the_program_and_not_part_of_it():
    rng = np.random.default_rng(0)
    small, large = (
        Digits(rng.random((n, 3, 4), np.float32), np.zeros(n, int)) for n in (10, 10_000)
    )

    def text(task):
        arrays, static = eqx.partition(task, eqx.is_array)
        sample = lambda arrays, key: eqx.combine(arrays, static).sample(key, 4)  # noqa: E731
        return jax.jit(sample).lower(arrays, KEY).as_text()

    assert len(text(large)) < len(text(small)) + 500


def test_training_resumes_on_the_same_images_only(tmp_path):
    """Two classes that one pixel tells apart; a run cut in two ends with the same numbers."""
    rng = np.random.default_rng(1)
    images = rng.random((400, 4, 4)).astype(np.float32)
    labels = (images[:, 1, 2] > 0.5).astype(int)
    task = Digits(images, labels, n_classes=2)
    options = {
        "optimizer": optax.adam(0.05), "batch_size": 64, "loss": softmax_cross_entropy,
        "key": KEY, "progress": False, "log_every": 50, "validation": task.trials(np.arange(100)),
        "metrics": {"accuracy": last_step_accuracy},
    }  # fmt: skip
    model = LinearMap.init(16, 2, key=KEY)
    whole = fit(model, task, steps=200, **options)
    assert whole.history[-1]["accuracy"] > 0.9
    fit(model, task, steps=70, run_dir=tmp_path / "run", **options)
    resumed = fit(model, task, steps=200, run_dir=tmp_path / "run", resume=True, **options)
    np.testing.assert_array_equal(whole.losses, resumed.losses)
    other = Digits(images, labels[::-1], n_classes=2)
    with pytest.raises(CheckpointError, match=r"task\.labels was"):
        fit(model, other, steps=200, run_dir=tmp_path / "run", resume=True, **options)
