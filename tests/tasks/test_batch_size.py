"""The number of trials: integers of any kind, and nothing else, in every task."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks import (
    AdaptiveFiltering,
    DelayedAddition,
    Digits,
    ElementFinder,
    FlipFlop,
    GlyphDigits,
    LatticeWalk,
    LinearStudentTeacher,
    LorenzEndPoint,
    MeasureWaitGo,
    Multitask,
    OneShotClassification,
    OUTrajectory,
    Reaching,
    RodentTrajectory,
    trial_keys,
)

KEY = jax.random.key(0)
TASKS = [
    ElementFinder(length=2),
    FlipFlop(duration=50),
    MeasureWaitGo(),
    Multitask(),
    AdaptiveFiltering(length=20),
    DelayedAddition(length=32),
    LinearStudentTeacher.generate(KEY),
    LorenzEndPoint.generate(KEY, n_snippets=10),
    OneShotClassification(),
    Reaching(dt=0.01),
    GlyphDigits(size=7),
    Digits(np.zeros((3, 2, 2), np.float32), np.arange(3)),
    LatticeWalk(n_bins=12, length=3),
    OUTrajectory(),
    RodentTrajectory(),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_integers_of_any_kind_are_one_number(task):
    expected = task.sample(KEY, 4)
    for size in (np.int64(4), np.uint8(4)):
        trials = task.sample(KEY, size)
        np.testing.assert_array_equal(trials.inputs, expected.inputs)
        assert len(jax.tree.leaves(trials.info)[0]) == 4


@pytest.mark.usefixtures("unchecked_signatures")
@pytest.mark.parametrize("size", [4.0, np.float32(4), "4", None, np.array([4, 4])])
def test_other_numbers_of_trials_are_refused(size):
    for sample in (*(task.sample for task in TASKS), trial_keys):
        with pytest.raises(ValueError, match="batch_size must be a whole number"):
            sample(KEY, size)


@pytest.mark.usefixtures("unchecked_signatures")
def test_a_traced_number_of_trials_is_refused():
    with pytest.raises(ValueError, match="static under jit"):
        jax.jit(TASKS[0].sample)(KEY, 4)
    assert TASKS[0].sample(KEY, jnp.asarray(4)).inputs.shape == (4, 3, 1)


@pytest.mark.parametrize("size", [0, -1, np.int64(0)])
def test_empty_batches_are_refused(size):
    for task in TASKS:
        with pytest.raises(ValueError, match="empty batch"):
            task.sample(KEY, size)
