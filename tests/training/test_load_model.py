"""A trained model comes back out of the directory of its run."""

import jax
import numpy as np
import optax
import pytest

from neurosim.models import NMRNN, LowRankRNN
from neurosim.tasks import FlipFlop
from neurosim.training import CheckpointError, NonNegative, fit, fit_ensemble, load_model

TASK = FlipFlop(n_bits=1, duration=200.0)
OPTIONS = {
    "optimizer": optax.adam(1e-2), "steps": 4, "batch_size": 2, "log_every": 2, "progress": False,
}  # fmt: skip


def _make(key, units=5):
    return LowRankRNN.init(units, 1, 1, 1, key=key)


def _same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_one_model(tmp_path):
    result = fit(_make(jax.random.key(0)), TASK, key=jax.random.key(1), run_dir=tmp_path, **OPTIONS)
    like = _make(jax.random.key(5))
    _same(load_model(tmp_path, like, which="last"), result.model)
    _same(load_model(tmp_path, like), result.best_model)
    with pytest.raises(ValueError, match="not an ensemble"):
        load_model(tmp_path, like, member=0)
    with pytest.raises(
        CheckpointError, match=r"\.L is stored with shape \(5, 1\), and shape \(6, 1"
    ):
        load_model(tmp_path, _make(jax.random.key(5), units=6))
    with pytest.raises(CheckpointError, match="no field"):
        load_model(tmp_path, NMRNN.init(5, 1, 2, 1, 1, key=jax.random.key(0)))
    with pytest.raises(CheckpointError, match="There is no checkpoint"):
        load_model(tmp_path / "elsewhere", like)


def test_a_member_of_an_ensemble(tmp_path):
    result = fit_ensemble(
        _make, TASK, n_seeds=3, key=jax.random.key(1), run_dir=tmp_path, **OPTIONS
    )
    like = _make(jax.random.key(5))
    for index, member in enumerate(result):
        _same(load_model(tmp_path, like, which="last", member=index), member.model)
        _same(load_model(tmp_path, like, member=index), member.best_model)
    for wrong in (None, 3, -1):
        with pytest.raises(ValueError, match="member must be 0 to 2"):
            load_model(tmp_path, like, member=wrong)
    with pytest.raises(ValueError, match="member must be 0 to 2"):
        result.member(3)


def test_a_single_constraint_needs_no_list():
    result = fit(
        _make(jax.random.key(0)),
        TASK,
        key=jax.random.key(1),
        constraints=NonNegative(lambda m: m.R),
        **OPTIONS,
    )
    assert float(result.model.R.min()) >= 0
