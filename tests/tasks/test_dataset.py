"""Tasks as NumPy batches: the same trials, time first, and resumed by index."""

from itertools import islice

import jax
import numpy as np
import pytest

from neurosim.tasks import FlipFlop
from neurosim.tasks.dataset import as_dataset

KEY = jax.random.key(2)
TASK = FlipFlop(duration=200, n_bits=2, pulse_prob=0.2, pulse_width=20, refractory=10)


def test_batch_n_is_drawn_from_the_key_folded_with_n():
    dataset = as_dataset(TASK, KEY, 3)
    assert (dataset.seq_len, dataset.batch_size, dataset.index) == (20, 3, 0)
    assert dataset.inputs_shape == dataset.target_shape == (20, 3, 2)
    assert dataset.trials is None
    for n in range(3):
        inputs, labels = dataset()
        expected = TASK.sample(jax.random.fold_in(KEY, n), 3)
        for array, wanted in (
            (inputs, expected.inputs),
            (labels, expected.targets),
            (dataset.mask, expected.mask),
        ):
            assert array.dtype == np.float32
            assert array.flags.c_contiguous
            assert array.flags.writeable
            np.testing.assert_array_equal(array, np.swapaxes(wanted, 0, 1))
        np.testing.assert_array_equal(dataset.trials.info["onsets"], expected.info["onsets"])
        assert dataset.index == n + 1


def test_a_run_goes_on_where_it_stopped():
    whole = list(islice(as_dataset(TASK, KEY, 3), 4))
    dataset = as_dataset(TASK, KEY, 3)
    first = list(islice(dataset, 2))
    other = as_dataset(TASK, KEY, 3)
    other.index = dataset.index
    for (inputs, labels), (more, marks) in zip(whole, first + list(islice(other, 2))):
        np.testing.assert_array_equal(inputs, more)
        np.testing.assert_array_equal(labels, marks)
    assert not np.array_equal(whole[0][0], whole[1][0])


def test_batch_first():
    inputs, labels = as_dataset(TASK, KEY, 3, batch_first=True)()
    expected = TASK.sample(jax.random.fold_in(KEY, 0), 3)
    np.testing.assert_array_equal(inputs, expected.inputs)
    np.testing.assert_array_equal(labels, expected.targets)
    assert as_dataset(TASK, KEY, 3, batch_first=True).inputs_shape == inputs.shape


@pytest.mark.usefixtures("double_precision")
def test_float32_in_double_precision_too():
    inputs, labels = as_dataset(TASK, KEY, 2)()
    assert inputs.dtype == labels.dtype == np.float32


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="empty batch"):
        as_dataset(TASK, KEY, 0)
    dataset = as_dataset(TASK, KEY, 1)
    for index, message in (
        (-1, "index must be from 0"),
        (2**32, "index must be from 0"),
        (0.5, "index must be a whole number"),
    ):
        dataset.index = index
        with pytest.raises(ValueError, match=message):
            dataset()
