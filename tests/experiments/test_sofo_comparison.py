"""The comparison of optimisers: what it runs, tunes, times and refuses."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.experiments import get_experiment, load_result, run_experiment
from neurosim.experiments.sofo_comparison import _at_time
from neurosim.experiments.sofo_memory import METHODS, memory_by_length
from neurosim.experiments.sofo_optimizers import CONTENDERS
from neurosim.experiments.sofo_problems import PUBLISHED, SMALL, n_trained, start
from neurosim.training import SOFO, fit
from neurosim.training.training_checks import checked_setup
from neurosim.training.training_step import first_state, recurrence_of, train_step

EXPERIMENT = get_experiment("sofo_comparison")
QUICK = EXPERIMENT.presets["quick"]


def test_runs_tunes_and_finds_sofo_ahead_of_adam_update_by_update(tmp_path):
    config = dataclasses.replace(
        QUICK,
        problems=("lorenz",),
        optimizers=("sofo", "adam", "adam_longer"),
        seeds=2,
        longer=3,
        adam_rates=(1e-3, 1e-9),
        memory_lengths=(),
    )
    result = run_experiment(EXPERIMENT, config, run_dir=tmp_path / "run", progress=False)
    a = result.arrays
    assert a["lorenz.sofo.losses"].shape == a["lorenz.adam.losses"].shape == (2, 40)
    assert a["lorenz.adam_longer.losses"].shape == (2, 120)
    # The same networks and trials: the loss before the first update is the same.
    np.testing.assert_allclose(
        a["lorenz.sofo.losses"][:, 0], a["lorenz.adam.losses"][:, 0], rtol=1e-4
    )
    scores = result.summary["problems"]["lorenz"]["optimizers"]
    assert scores["adam"]["rate"] == 1e-3
    assert np.all(scores["sofo"]["loss"] < 0.25 * scores["adam"]["loss"])
    assert result.summary["problems"]["lorenz"]["parameters"] == 709
    again = load_result(tmp_path / "run", EXPERIMENT)
    figures = EXPERIMENT.plot(again)
    assert set(figures) == {"by_update", "by_second"}
    # The longer run has a curve against seconds alone; one line is the baseline.
    n_lines = {name: len(figure.axes[0].lines) for name, figure in figures.items()}
    assert n_lines == {"by_update": 7, "by_second": 10}


def test_force_trains_the_reservoir_and_nothing_else(tmp_path):
    config = dataclasses.replace(
        QUICK, problems=("flip_flop_reservoir", "student_teacher"), optimizers=("adam", "force"),
        steps=2, force_ridges=(1.0,), memory_lengths=(),
    )  # fmt: skip
    result = run_experiment(EXPERIMENT, config, run_dir=tmp_path / "run", progress=False)
    problems = result.summary["problems"]
    assert set(problems["flip_flop_reservoir"]["optimizers"]) == {"adam", "force"}
    assert set(problems["student_teacher"]["optimizers"]) == {"adam"}
    scores = problems["flip_flop_reservoir"]["optimizers"]
    tested = {name: score["loss_on_new_trials"][0] for name, score in scores.items()}
    assert tested["force"] < 0.7 * tested["adam"]


def test_diverged_seeds_are_reported_and_stop_nothing(tmp_path):
    config = dataclasses.replace(
        QUICK, problems=("student_teacher",), optimizers=("adam",), steps=30, adam_rates=(1e30,),
        memory_lengths=(),
    )  # fmt: skip
    result = run_experiment(EXPERIMENT, config, run_dir=tmp_path / "run", progress=False)
    assert np.isnan(result.arrays["student_teacher.adam.losses"]).all()
    assert "-" in result.table


@pytest.mark.parametrize("name", list(SMALL))
def test_an_update_of_sofo_can_be_traced_on_every_task(name):
    """Network, task and loss fit together, and memory does not grow with trials."""
    problem = SMALL[name]
    task, model = start(problem, jax.random.key(0))
    assert n_trained(problem, model) > problem.n_tangents
    setup = checked_setup(
        model, task, optimizer=SOFO(4, 0.01), batch_size=4, loss=problem.loss, dt=None,
        trainable=problem.trainable, constraints=(), simulate_options=None,
    )  # fmt: skip
    params = eqx.filter(model, setup.trainable)
    frozen = eqx.filter(model, setup.trainable, inverse=True)
    key = jax.random.key(1)
    assert recurrence_of(setup, params, frozen, task.sample(key, 4), key) is not None
    step = jnp.zeros((), jnp.int32)
    _, emitted = eqx.filter_eval_shape(
        train_step, setup, first_state(setup, params), frozen, model, key, step
    )
    assert emitted["loss"].shape == ()


@pytest.mark.parametrize("optimizer", [n for n, c in CONTENDERS.items() if c.only is None])
def test_every_optimiser_lowers_the_loss_of_the_linear_student(optimizer):
    problem = SMALL["student_teacher"]._replace(n_tangents=32)
    task, model = start(problem, jax.random.key(0))
    rate = {"sofo_rates": 1.0, "first_order_rates": 0.3, "muon_rates": 0.02}
    rule = CONTENDERS[optimizer].make(rate.get(CONTENDERS[optimizer].rates, 0.1), problem)
    result = fit(
        model, task, optimizer=rule, steps=20, batch_size=64, key=jax.random.key(1), progress=False
    )
    assert result.losses[-1] < 0.8 * result.losses[0]


def test_published_numbers_of_parameters():
    published = {
        "lorenz": 2809, "adaptive_filter": 10_300, "flip_flop": 17_280,
        "flip_flop_reservoir": 3000, "single_reach": 4800, "double_reach": 4992,
        "one_shot": 91_500, "student_teacher": 300,
    }  # fmt: skip
    for name, expected in published.items():
        problem = PUBLISHED[name]._replace(make_task=lambda key: None)
        assert n_trained(problem, start(problem, jax.random.key(0))[1]) == expected, name


def test_loss_at_a_time():
    losses = np.arange(100.0)[None].repeat(2, 0)
    # 20 updates of half a second; and of ten seconds, which is one; and past the end of a run.
    np.testing.assert_allclose(_at_time(losses, np.array([0.5, 10.0]), 10.0), [18.5, 0])
    np.testing.assert_array_equal(_at_time(losses, np.array([0.01, np.nan]), 10.0), [np.nan] * 2)


def test_memory_by_length(monkeypatch):
    kept = {k: v for k, v in METHODS.items() if k in ("Adam, all steps kept", "SOFO, 32 tangents")}
    monkeypatch.setattr("neurosim.experiments.sofo_memory.METHODS", kept)
    found = memory_by_length((50, 800))
    np.testing.assert_array_equal(found["lengths"], [50, 800])
    kept, flat = (found[name][1] / found[name][0] for name in kept)
    assert kept == pytest.approx(16, rel=0.05)
    assert flat == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problems": ("lorentz",)}, "unknown task 'lorentz' in problems"),
        ({"optimizers": ()}, "no optimiser in optimizers"),
        ({"size": "big"}, "size must be one of small, published"),
        ({"sofo_rates": ()}, "sofo_rates must hold positive numbers"),
        ({"adam_rates": (0.0,)}, "adam_rates must hold positive numbers"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"memory_lengths": (1,)}, "memory_lengths must be at least 2"),
    ],
)
def test_bad_configs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(QUICK, **changes)
