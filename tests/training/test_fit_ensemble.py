import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny_circuits import Accumulate, Constant, TinyRNN, assert_same_bits, constant_trials

from neurosim.training import (
    DaleLaw,
    TrainingDiverged,
    fit,
    fit_ensemble,
    member_keys,
)

KEY = jax.random.key(11)


def settings(**kwargs):
    task = Accumulate()
    return {
        "task": task,
        "optimizer": optax.chain(optax.clip(1.0), optax.adam(1e-2)),
        "batch_size": 4,
        "constraints": [DaleLaw(lambda m: m.W, excitatory=0.8)],
        "simulate_options": {"noise": 0.05},
        "validation": task,
        "metrics": {"peak": lambda trajectory, trials: np.abs(trajectory.outputs).max()},
        "log_every": 10,
        "progress": False,
    } | kwargs


@pytest.fixture(scope="module")
def ensemble():
    return fit_ensemble(TinyRNN.init, n_seeds=3, key=KEY, steps=40, **settings())


def test_each_member_is_the_run_with_its_key(ensemble):
    assert len(ensemble) == 3
    assert ensemble.losses.shape == (3, 40)
    options = settings()
    for index in range(3):
        model_key, fit_key = jax.random.split(member_keys(KEY, 3)[index])
        alone = fit(TinyRNN.init(model_key), key=fit_key, steps=40, **options)
        member = ensemble.member(index)
        for name in ("W", "B", "C"):
            np.testing.assert_allclose(
                getattr(member.model, name), getattr(alone.model, name), rtol=1e-4, atol=1e-6
            )
            np.testing.assert_allclose(
                getattr(member.best_model, name),
                getattr(alone.best_model, name),
                rtol=1e-4,
                atol=1e-6,
            )
        np.testing.assert_allclose(member.losses, alone.losses, rtol=1e-4)
        assert member.best_step == alone.best_step
        for record, expected in zip(member.history, alone.history, strict=True):
            assert record.keys() == expected.keys()
            for name in ("loss", "validation_loss", "peak"):
                assert record[name] == pytest.approx(expected[name], rel=1e-4)
    assert len({float(loss[0]) for loss in ensemble.losses}) == 3
    assert ensemble.diverged_at.tolist() == [0, 0, 0]


def test_an_ensemble_resumes(tmp_path, ensemble):
    for steps in (20, 40):
        result = fit_ensemble(
            TinyRNN.init,
            n_seeds=3,
            key=KEY,
            steps=steps,
            run_dir=tmp_path,
            resume=steps == 40,
            **settings(),
        )
    assert_same_bits(result.models, ensemble.models)
    assert_same_bits(result.best_models, ensemble.best_models)
    assert result.losses.tobytes() == ensemble.losses.tobytes()
    with pytest.raises(ValueError, match="members was 3 and is now 2"):
        fit_ensemble(
            TinyRNN.init, n_seeds=2, key=KEY, steps=60, run_dir=tmp_path, resume=True, **settings()
        )


def unlucky(trajectory, trials):
    """Minus the logarithm of p: pulls p up, and breaks where p is negative."""
    return -jnp.sum(jnp.log(trajectory.outputs))


def make_signed(n_good):
    made = iter(range(10))

    def make(key):
        return Constant(jnp.full(2, 1.0 if next(made) < n_good else -1.0))

    return make


def fit_signed(n_good, **kwargs):
    return fit_ensemble(
        make_signed(n_good),
        constant_trials([0.0, 0.0]),
        n_seeds=3,
        key=KEY,
        optimizer=optax.sgd(0.1),
        loss=unlucky,
        steps=20,
        log_every=5,
        dt=1.0,
        progress=False,
        **kwargs,
    )


def test_a_member_that_diverges_is_named():
    with pytest.raises(TrainingDiverged, match="at step 1 in member 2: the loss") as caught:
        fit_signed(2)
    assert caught.value.members == (2,)
    with pytest.raises(TrainingDiverged, match=r"in members \(1, 2\)"):
        fit_signed(1)


def test_a_member_that_diverges_does_not_hurt_the_others(tmp_path):
    result = fit_signed(2, throw=False, run_dir=tmp_path)
    assert result.diverged_at.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(result.models.p[2], -1)
    # p <- p + rate / p, twenty times, from 1.
    p = 1.0
    for _ in range(20):
        p += 0.1 / p
    np.testing.assert_allclose(result.models.p[:2], p, rtol=1e-5)
    assert np.isnan(result.losses[2]).all()
    assert np.isfinite(result.losses[:2]).all()
    assert result.history[-1]["loss"][2] is None
    with pytest.raises(TrainingDiverged, match=r"in members \(0, 1, 2\)"):
        fit_signed(0, throw=False)


def test_models_of_an_ensemble_must_be_alike():
    sizes = iter((4, 5))
    with pytest.raises(ValueError, match="model 1 has another structure"):
        fit_ensemble(
            lambda key: TinyRNN.init(key, n_units=next(sizes)),
            n_seeds=2,
            key=KEY,
            steps=1,
            **settings(constraints=[]),
        )
    with pytest.raises(ValueError, match="n_seeds must be at least 1"):
        fit_ensemble(TinyRNN.init, n_seeds=0, key=KEY, steps=1, **settings())


def test_a_list_of_models_is_trained_on_each_from_its_own_start(ensemble):
    starts = [ensemble.member(i).model for i in range(3)]
    result = fit_ensemble(starts, n_seeds=3, key=KEY, steps=1, **settings(log_every=1))
    options = settings(log_every=1)
    for index, start in enumerate(starts):
        _, fit_key = jax.random.split(member_keys(KEY, 3)[index])
        alone = fit(start, key=fit_key, steps=1, **options)
        np.testing.assert_allclose(result.losses[index], alone.losses, rtol=1e-4)
    with pytest.raises(ValueError, match="n_seeds = 2 members is needed, got 3"):
        fit_ensemble(starts, n_seeds=2, key=KEY, steps=1, **settings())
