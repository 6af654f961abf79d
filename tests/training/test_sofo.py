"""SOFO inside `fit`, in loops of one's own, in Optax, and where it must refuse."""

import warnings

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sketch_problems import TARGET, THETA, X, squared_error
from tiny_circuits import Accumulate, Constant, TinyRNN, assert_same_bits, constant_trials

from neurosim.models import NMRNN, VanillaRNN
from neurosim.simulate import simulate
from neurosim.tasks import FlipFlop, Trials
from neurosim.training import (
    SOFO,
    DaleLaw,
    FrozenEntries,
    GaussianTangents,
    IdentityTangents,
    LevenbergMarquardt,
    Objective,
    Sketch,
    TrainingDiverged,
    fit,
    fit_ensemble,
    mean_squared_error,
    member_keys,
    sketch,
    sofo_direction,
    value_and_direction,
    weighted_sum,
)
from neurosim.training.training_checks import checked_setup
from neurosim.training.training_step import recurrence_of, run_model

KEY = jax.random.key(0)


def linear_sketch(params, tangents):
    return sketch(lambda p: jnp.asarray(X) @ p, squared_error, params, tangents)


def linear_loss(params):
    return squared_error(jnp.asarray(X) @ params)


# --- One step, on its own.


def test_one_full_step_is_least_squares(double_precision):
    sofo = SOFO(3, 1.0, damping=0.0, tangents=IdentityTangents())
    params = jnp.asarray(THETA)
    new, state, info = sofo.step(params, sofo.init(params), linear_sketch, KEY, loss_fn=linear_loss)
    np.testing.assert_allclose(new, np.linalg.lstsq(X, TARGET, rcond=None)[0], atol=1e-12)
    assert info.actual_decrease == pytest.approx(float(info.predicted_decrease), rel=1e-10)
    assert info.step_norm == pytest.approx(np.linalg.norm(new - THETA), rel=1e-12)
    # The Hessian of the mean squared error is 2 X'X / 6.
    np.testing.assert_allclose(info.spectrum, np.linalg.eigvalsh(X.T @ X / 3), rtol=1e-12)
    share = info.spectrum / info.spectrum.sum()
    assert info.effective_rank == pytest.approx(float(jnp.prod(share**-share)), rel=1e-12)
    assert not info.rejected
    assert int(state.count) == 1


def test_tangents_of_a_draw_are_new_each_time_and_the_key_decides(double_precision):
    sofo = SOFO(2, 1.0)
    params = jnp.asarray(THETA)
    state = sofo.init(params)
    one, two, same = (
        sofo.step(params, state, linear_sketch, key)[0] for key in (KEY, jax.random.key(1), KEY)
    )
    assert_same_bits(one, same)
    assert np.abs(np.asarray(one) - np.asarray(two)).max() > 1e-3


def test_levenberg_marquardt_follows_the_gain_ratio():
    rule = LevenbergMarquardt(least=0.01, most=10.0)
    for actual, expected in ((0.9, 2 / 3), (0.5, 1.0), (0.1, 1.5), (-1.0, 1.5)):
        found = rule.adapted(jnp.asarray(1.0), jnp.asarray(actual), jnp.asarray(1.0))
        assert float(found) == pytest.approx(expected)
    assert rule.adapted(jnp.asarray(0.01), jnp.asarray(1.0), jnp.asarray(1.0)) == pytest.approx(
        0.01
    )
    assert rule.adapted(jnp.asarray(9.0), jnp.asarray(0.0), jnp.asarray(1.0)) == pytest.approx(10)


def test_levenberg_marquardt_raises_damping_on_a_narrow_bend(double_precision):
    """Near the crest of a sine the model promises more than a full step keeps."""
    options = {"damping": 1e-3, "adapt": LevenbergMarquardt(), "tangents": IdentityTangents()}
    sofo = SOFO(1, 1.0, largest_increase=None, **options)

    def outputs(p):
        return jnp.sin(3 * p)

    def loss(y):
        return jnp.sum((y - 2) ** 2)

    params = jnp.array([0.5])
    state = sofo.init(params)

    def sketch_fn(p, v):
        return sketch(outputs, loss, p, v)

    def loss_fn(p):
        return loss(outputs(p))

    _, after, info = sofo.step(params, state, sketch_fn, KEY, loss_fn=loss_fn)
    ratio = info.actual_decrease / info.predicted_decrease
    assert ratio < 0.25
    assert after.damping == pytest.approx(1.5e-3)
    # Far from the crest a short step keeps what it promised.
    short = SOFO(1, 0.01, **options)
    _, after, info = short.step(jnp.array([0.1]), state, sketch_fn, KEY, loss_fn=loss_fn)
    assert info.actual_decrease / info.predicted_decrease > 0.75
    assert after.damping == pytest.approx(1e-3 * 2 / 3)
    with pytest.raises(ValueError, match="pass loss_fn="):
        sofo.step(params, state, sketch_fn, KEY)


def test_momentum_is_a_corrected_running_mean(double_precision):
    """With identity tangents nothing is left to chance: directions are Newton's."""
    plain = SOFO(3, 0.1, damping=0.0, tangents=IdentityTangents())
    heavy = SOFO(3, 0.1, damping=0.0, tangents=IdentityTangents(), momentum=0.8)
    best = np.linalg.lstsq(X, TARGET, rcond=None)[0]
    params, state = jnp.asarray(THETA), heavy.init(jnp.asarray(THETA))
    expected, mean = np.array(THETA), 0.0
    for step in range(1, 4):
        # The direction of an undamped full step leads to the optimum.
        mean = 0.8 * mean + 0.2 * (expected - best)
        expected = expected - 0.1 * mean / (1 - 0.8**step)
        params, state, info = heavy.step(params, state, linear_sketch, KEY)
        np.testing.assert_allclose(params, expected, atol=1e-11)
        assert np.isnan(info.predicted_decrease)
    first = plain.step(jnp.asarray(THETA), plain.init(jnp.asarray(THETA)), linear_sketch, KEY)[0]
    np.testing.assert_allclose(first, THETA - 0.1 * (THETA - best), atol=1e-12)


def test_a_schedule_is_asked_for_each_update(double_precision):
    sofo = SOFO(3, lambda n: 1.0 / (n + 2), damping=0.0, tangents=IdentityTangents())
    best = np.linalg.lstsq(X, TARGET, rcond=None)[0]
    params, state, expected = jnp.asarray(THETA), sofo.init(jnp.asarray(THETA)), np.array(THETA)
    for n in range(3):
        params, state, _ = sofo.step(params, state, linear_sketch, KEY)
        expected = expected - (expected - best) / (n + 2)
        np.testing.assert_allclose(params, expected, atol=1e-12)


def test_the_last_direction_is_kept_among_the_tangents(double_precision):
    sofo = SOFO(2, 0.5, damping=1e-3, keep_last=True)
    params, seen = jnp.asarray(THETA), []
    state = sofo.init(params)

    def sketch_fn(p, v):
        seen.append(np.asarray(v))
        return linear_sketch(p, v)

    first, state, _ = sofo.step(params, state, sketch_fn, KEY)
    sofo.step(first, state, sketch_fn, jax.random.key(1))
    np.testing.assert_allclose(seen[0] @ seen[0].T, np.eye(2), atol=1e-13)
    last, basis = np.asarray(first) - THETA, seen[1]
    np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-13)
    np.testing.assert_allclose(basis.T @ (basis @ last), last, atol=1e-13)


# --- In Optax.


def test_a_direction_takes_the_place_of_a_gradient(double_precision):
    sofo = SOFO(3, damping=0.0, tangents=IdentityTangents())
    params = jnp.asarray(THETA)
    best = np.linalg.lstsq(X, TARGET, rcond=None)[0]
    loss, direction, _ = value_and_direction(linear_sketch, sofo)(params, KEY)
    assert loss == pytest.approx(float(linear_loss(params)), rel=1e-14)
    np.testing.assert_allclose(direction, THETA - best, atol=1e-12)
    chain = optax.chain(sofo_direction(sofo), optax.clip_by_global_norm(0.1), optax.sgd(0.5))
    state = chain.init(params)
    updates, state = chain.update(None, state, params, sketch_fn=linear_sketch, key=KEY)
    far = THETA - best
    np.testing.assert_allclose(updates, -0.05 * far / np.linalg.norm(far), atol=1e-12)
    assert state[0].loss == loss
    with pytest.raises(ValueError, match="needs the parameters"):
        chain.update(None, state, sketch_fn=linear_sketch, key=KEY)


# --- In fit.


@pytest.mark.parametrize(
    ("kind", "options"),
    [("vanilla", {"noise": 0.3}), ("vanilla", {"substeps": 2}), ("nm_rnn", {})],
)
def test_a_run_step_by_step_is_the_run(double_precision, kind, options):
    """The sketch that keeps nothing of a run equals that of its whole trajectory."""
    task = FlipFlop(duration=200.0, n_bits=2, pulse_prob=0.1)
    if kind == "vanilla":
        model = VanillaRNN.init(7, 2, 2, key=KEY, rec_scale="1/sqrt(N)")
    else:
        model = NMRNN.init(6, 3, 4, 2, 2, key=KEY)
    loss = weighted_sum((1.0, mean_squared_error), (0.5, mean_squared_error))
    setup = checked_setup(
        model, task, optimizer=SOFO(3), batch_size=5, loss=loss, dt=None, trainable=None,
        constraints=(), simulate_options=options,
    )  # fmt: skip
    trials = task.sample(KEY, 5)
    mask = trials.mask.at[:, ::3].set(0).at[2].set(0.5)
    trials = Trials(trials.inputs, trials.targets, mask, trials.info)
    params = eqx.filter(model, setup.trainable)
    frozen = eqx.filter(model, setup.trainable, inverse=True)
    noise_key = jax.random.key(4)
    recurrence = recurrence_of(setup, params, frozen, trials, noise_key)
    assert recurrence is not None
    tangents = GaussianTangents().sample(KEY, params, 3)

    def outputs(params):
        return run_model(setup, eqx.combine(params, frozen), trials, noise_key)

    def whole_loss(trajectory):
        return 1.5 * mean_squared_error(trajectory, trials)

    whole = sketch(outputs, whole_loss, params, tangents)
    for found in (
        recurrence.sketch(params, tangents),
        recurrence.sketch(params, tangents, chunk_size=2),
    ):
        for a, b in zip(found, whole):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13)
    assert recurrence.loss(params) == pytest.approx(float(whole.loss), rel=1e-12)
    if isinstance(model, VanillaRNN):
        slope = jax.grad(lambda p: whole_loss(outputs(p)))(params)
        direct = [
            sum(
                jnp.vdot(s, t[k]) for s, t in zip(jax.tree.leaves(slope), jax.tree.leaves(tangents))
            )
            for k in range(3)
        ]
        np.testing.assert_allclose(whole.gradient, direct, rtol=1e-9)


def test_trials_may_say_where_they_start(double_precision):
    model = TinyRNN.init(KEY)
    task = Accumulate()
    trials = task.sample(KEY, 4)
    starts = jax.random.normal(KEY, (4, 5))
    trials = Trials(trials.inputs, trials.targets, trials.mask, {"initial_state": starts})
    expected = simulate(model, trials.inputs, dt=0.1, initial_state=starts)
    result = fit(
        model, trials, optimizer=SOFO(4), steps=1, key=KEY, dt=0.1, progress=False,
    )  # fmt: skip
    error = np.mean((np.asarray(expected.outputs) - np.asarray(trials.targets)) ** 2)
    assert result.losses[0] == pytest.approx(error, rel=1e-10)


def test_trains_and_tells(tmp_path):
    result = fit(
        TinyRNN.init(KEY), Accumulate(), optimizer=SOFO(20, 0.3), steps=40, batch_size=32,
        key=KEY, log_every=10, run_dir=tmp_path / "run", progress=False,
    )  # fmt: skip
    assert result.losses[-10:].mean() < 0.3 * result.losses[0]
    record = result.history[-1]
    for name in (
        "damping", "largest_eigenvalue", "median_eigenvalue", "smallest_eigenvalue",
        "effective_rank", "step_norm", "predicted_decrease", "actual_decrease", "rejected",
    ):  # fmt: skip
        assert np.isfinite(record[name]), name
    assert 1 <= record["effective_rank"] <= 20
    assert record["rejected"] == 0


def test_a_run_cut_in_two_is_the_same_run(tmp_path):
    sofo = SOFO(10, 0.1, adapt=LevenbergMarquardt(), keep_last=True, orthogonal_to=1)
    options = {"optimizer": sofo, "batch_size": 8, "key": KEY, "progress": False}
    model, task = TinyRNN.init(KEY), Accumulate()
    whole = fit(model, task, steps=12, **options)
    fit(model, task, steps=5, run_dir=tmp_path / "run", **options)
    rest = fit(model, task, steps=12, run_dir=tmp_path / "run", resume=True, **options)
    assert_same_bits(whole.model, rest.model)
    np.testing.assert_array_equal(whole.losses, rest.losses)


def test_an_ensemble_is_its_members():
    options = {"optimizer": SOFO(6, 0.1), "steps": 4, "batch_size": 8, "progress": False}
    task = Accumulate()
    many = fit_ensemble(TinyRNN.init, task, n_seeds=2, key=KEY, **options)
    for i, key in enumerate(member_keys(KEY, 2)):
        model_key, fit_key = jax.random.split(key)
        one = fit(TinyRNN.init(model_key), task, key=fit_key, **options)
        np.testing.assert_allclose(many.losses[i], one.losses, rtol=1e-3)


def test_frozen_entries_are_left_out_of_the_step(double_precision):
    """Freezing entries of a linear model is least squares in the others, in one step."""

    class Linear(Constant):
        """Outputs X p, of parameters p."""

        def readout(self, state):
            return jnp.asarray(X) @ self.p + 0 * state[0]

    frozen = np.array([False, True, False])
    result = fit(
        Linear(jnp.asarray(THETA)), constant_trials(TARGET), steps=1, dt=0.1, key=KEY,
        optimizer=SOFO(3, 1.0, damping=0.0), progress=False, log_every=1,
        constraints=FrozenEntries(lambda m: m.p, frozen),
    )  # fmt: skip
    rest = np.linalg.lstsq(X[:, ~frozen], TARGET - X[:, 1] * THETA[1], rcond=None)[0]
    np.testing.assert_allclose(result.model.p[~frozen], rest, atol=1e-10)
    assert float(result.model.p[1]) == THETA[1]
    record = result.history[-1]
    after = squared_error(X @ np.asarray(result.model.p))
    assert record["actual_decrease"] == pytest.approx(float(result.losses[0] - after), rel=1e-9)
    assert record["predicted_decrease"] == pytest.approx(record["actual_decrease"], rel=1e-9)


@pytest.mark.parametrize(
    "constraint",
    [
        FrozenEntries(lambda m: m.W, (np.arange(25) < 8).reshape(5, 5)),
        FrozenEntries(lambda m: m.W, np.ones((5, 5), bool)),
        DaleLaw(lambda m: m.W, excitatory=0.8),
    ],
    ids=["some frozen", "all frozen", "Dale"],
)
def test_no_step_raises_the_loss_under_constraints(constraint):
    model, trials = TinyRNN.init(KEY), Accumulate().sample(KEY, 16)
    result = fit(
        model, trials, optimizer=SOFO(20, 1.0), steps=30, key=KEY, dt=0.1, progress=False,
        constraints=constraint,
    )  # fmt: skip
    assert np.all(np.diff(result.losses) <= 1e-5 * result.losses[:-1])
    assert result.losses[-1] < 0.5 * result.losses[0]


def test_batches_that_ask_for_nothing_change_nothing():
    class Catch(Accumulate):
        """The running sum; six batches of ten ask for nothing."""

        def sample(self, key, batch_size):
            trials = super().sample(key, batch_size)
            asked = jax.random.bernoulli(jax.random.fold_in(key, 7), 0.4)
            return Trials(trials.inputs, trials.targets, trials.mask * asked, trials.info)

    options = {"optimizer": SOFO(10, 0.3, max_rejections=2), "key": KEY, "batch_size": 16}
    result = fit(TinyRNN.init(KEY), Catch(), steps=60, log_every=20, progress=False, **options)
    assert (result.losses == 0).sum() > 20
    asked = result.losses[result.losses > 0]
    assert asked[-5:].mean() < 0.5 * asked[0]
    # Damping rose with steps that were rejected for other reasons alone.
    assert result.history[-1]["damping"] < 1e-2
    assert result.history[-1]["rejected"] < 0.2


def test_buffers_of_the_state_can_be_given_away(double_precision):
    sofo = SOFO(2, 0.5, keep_last=True, momentum=0.5)
    step = eqx.filter_jit(lambda p, s, key: sofo.step(p, s, linear_sketch, key), donate="all")
    params = jnp.array(THETA)
    state = sofo.init(params)
    for key in jax.random.split(KEY, 3):
        params, state, info = step(params, state, key)
    assert not info.rejected


def test_rates_and_dampings_may_be_traced():
    x, target = jnp.asarray(X, jnp.float32), jnp.asarray(TARGET, jnp.float32)
    params = jnp.asarray(THETA, jnp.float32)

    def sketch_fn(p, v):
        return sketch(lambda p: x @ p, lambda y: jnp.mean((y - target) ** 2), p, v)

    @jax.jit
    def first(rate, damping):
        sofo = SOFO(3, rate, damping=damping, tangents=IdentityTangents())
        return sofo.step(params, sofo.init(params), sketch_fn, KEY)[0]

    best = np.linalg.lstsq(X, TARGET, rcond=None)[0]
    np.testing.assert_allclose(first(0.5, 0.0), THETA + 0.5 * (best - THETA), atol=1e-4)
    both = jax.vmap(first, (0, None))(jnp.array([0.5, 1.0]), 0.0)
    np.testing.assert_allclose(both[1], best, atol=1e-4)


def test_an_initial_state_trains_where_it_is_asked_for():
    model = TinyRNN.init(KEY)
    result = fit(
        model, Accumulate(), optimizer=SOFO(3, 0.1), steps=3, batch_size=8, key=KEY,
        trainable=lambda m: m.x0, progress=False,
    )  # fmt: skip
    assert np.abs(np.asarray(result.model.x0)).max() > 0
    assert_same_bits(result.model.W, model.W)


def test_through_an_adaptive_solver():
    options = {
        "stepsize_controller": diffrax.PIDController(rtol=1e-3, atol=1e-4),
        "solver": diffrax.Tsit5(),
    }
    call = {"optimizer": SOFO(5, 0.1), "steps": 2, "batch_size": 4, "key": KEY, "progress": False}
    task = Accumulate()
    with pytest.raises(ValueError, match=r"adjoint=diffrax\.ForwardMode\(\)"):
        fit(TinyRNN.init(KEY), task, simulate_options=options, **call)
    options["adjoint"] = diffrax.ForwardMode()
    result = fit(TinyRNN.init(KEY), task, simulate_options=options, **call)
    plain = fit(TinyRNN.init(KEY), task, simulate_options={"solver": diffrax.Tsit5()}, **call)
    np.testing.assert_allclose(result.losses, plain.losses, rtol=1e-2)


# --- Where it must refuse.


def test_bad_steps_are_rejected_and_counted_and_raise_the_damping(double_precision):
    sofo = SOFO(3, 1.0, tangents=IdentityTangents())
    params = jnp.asarray(THETA)
    state = sofo.init(params)
    bad = linear_sketch(params, jnp.eye(3))
    for broken in (
        bad._replace(loss=jnp.asarray(jnp.nan)),
        bad._replace(gradient=bad.gradient.at[1].set(jnp.inf)),
        bad._replace(ggn=bad.ggn.at[0, 0].set(jnp.nan)),
    ):
        new, after, info = sofo.step(params, state, lambda p, v, b=broken: b, KEY)
        assert_same_bits(new, params)
        assert info.rejected
        assert info.not_finite
        assert int(after.rejected) == int(after.in_a_row) == 1
        assert after.damping == pytest.approx(10 * 1e-5)
        assert int(after.count) == 0
    new, after, info = sofo.step(
        params, state, linear_sketch, KEY, loss_fn=lambda p: jnp.asarray(jnp.nan)
    )
    assert info.not_finite
    _, again, _ = sofo.step(params, after, linear_sketch, KEY)
    assert int(again.in_a_row) == 0
    assert int(again.rejected) == 1
    # Damping falls back to where it belongs once steps are good.
    assert 1e-5 <= float(again.damping) < float(after.damping)


def test_a_step_that_makes_the_loss_grow_is_rejected(double_precision):
    """On log cosh, of curvature 1 - tanh^2, a full step from 1.5 goes across and up."""

    def loss(y):
        return jnp.sum(jnp.log(jnp.cosh(y)))

    def sketch_fn(p, v):
        return sketch(lambda p: p, loss, p, v)

    params = jnp.array([1.5])
    landed = 1.5 - np.tanh(1.5) * np.cosh(1.5) ** 2
    assert np.log(np.cosh(landed)) > np.log(np.cosh(1.5))
    options = {"damping": 1e-6, "damping_mode": "absolute", "tangents": IdentityTangents()}
    for bound, rejected in ((1.0, True), (1.5, True), (10.0, False), (None, False)):
        sofo = SOFO(1, 1.0, largest_increase=bound, **options)
        new, after, info = sofo.step(params, sofo.init(params), sketch_fn, KEY, loss_fn=loss)
        assert bool(info.rejected) is rejected
        assert not info.not_finite
        assert not info.not_positive
        assert float(new[0]) == pytest.approx(1.5 if rejected else landed, rel=1e-5)
        assert float(after.damping) == pytest.approx(1e-5 if rejected else 1e-6)
    # As well where the loss is below zero.
    sofo = SOFO(1, 1.0, **options)
    shift = 5.0

    def below(p, v):
        found = sketch_fn(p, v)
        return found._replace(loss=found.loss - shift)

    info = sofo.step(params, sofo.init(params), below, KEY, loss_fn=lambda p: loss(p) - shift)[2]
    assert info.rejected
    momentum = SOFO(1, 1.0, momentum=0.9, **options)
    state = momentum.init(params)
    state = eqx.tree_at(lambda s: s.momentum, state, jnp.array([-50.0]))
    _, after, info = momentum.step(params, state, sketch_fn, KEY, loss_fn=loss)
    assert info.rejected
    assert float(after.momentum[0]) == 0
    # Ever shorter steps end by themselves: the minimum is found, and no run ends for it.
    sofo = SOFO(1, 1.0, **options)
    state = sofo.init(params)
    for _ in range(40):
        params, state, info = sofo.step(params, state, sketch_fn, KEY, loss_fn=loss)
    assert float(params[0]) == pytest.approx(0, abs=1e-6)
    assert int(state.rejected) > 3


@pytest.mark.parametrize(
    "loss",
    [
        lambda y: -jnp.mean(y**2),
        lambda y: jnp.mean(jnp.sin(5 * y)),
        lambda y: 1 + 0 * jnp.sum(y),
    ],
)
def test_curvature_that_is_not_positive_is_rejected(double_precision, loss):
    params = jnp.asarray(THETA)

    def sketch_fn(p, v):
        return sketch(lambda p: jnp.asarray(X) @ p, loss, p, v)

    sofo = SOFO(3, 1.0, tangents=IdentityTangents())
    new, _, info = sofo.step(params, sofo.init(params), sketch_fn, KEY)
    assert info.not_positive
    assert not info.not_finite
    assert_same_bits(new, params)


def test_indefinite_curvature_may_be_allowed(double_precision):
    params = jnp.asarray(THETA)
    sofo = SOFO(3, 1.0, tangents=IdentityTangents(), allow_indefinite=True)
    found = Sketch(jnp.asarray(1.0), jnp.ones(3), jnp.diag(jnp.array([2.0, 1.0, -1.0])))
    _, _, info = sofo.step(params, sofo.init(params), lambda p, v: found, KEY)
    assert not info.rejected


def test_a_run_that_only_rejects_ends_with_the_reason():
    trials = constant_trials([0.0, 0.0, 0.0])

    def concave(trajectory, trials):
        return -mean_squared_error(trajectory, trials)

    model = Constant(jnp.array([1.0, 2.0, 3.0]))
    call = {"steps": 20, "key": KEY, "dt": 0.1, "progress": False}
    with pytest.raises(TrainingDiverged, match="must be convex in the outputs") as caught:
        fit(model, trials, optimizer=SOFO(2, max_rejections=4), loss=concave, **call)
    assert caught.value.step == 4

    def broken(trajectory, trials):
        return mean_squared_error(trajectory, trials) * jnp.nan

    with pytest.raises(TrainingDiverged, match=r"were not finite\. Take a smaller") as caught:
        fit(model, trials, optimizer=SOFO(2), loss=broken, **call)
    assert caught.value.step == 10


def test_a_step_over_the_edge_is_shortened_until_it_stays(double_precision):
    """From 1 to the optimum at 5, where outputs above 4 have no loss.

    The damped step is 8 / (2 + gamma): damping .001, .01 and .1 go too far, 1 does not.
    """

    def cliff(trajectory, trials):
        error = mean_squared_error(trajectory, trials)
        return jnp.where(trajectory.outputs.max() > 4, jnp.nan, error)

    result = fit(
        Constant(jnp.array([1.0])), constant_trials([5.0]), loss=cliff,
        optimizer=SOFO(1, 1.0, damping=1e-3, damping_mode="absolute"), steps=4, log_every=4,
        key=KEY, dt=0.1, progress=False,
    )  # fmt: skip
    assert float(result.model.p[0]) == pytest.approx(1 + 8 / 3, rel=1e-12)
    assert result.history[-1]["rejected"] == pytest.approx(3 / 4)
    # The loss before the step is known all the same, and a rejected step counts in no mean.
    np.testing.assert_allclose(result.losses, 16)
    assert result.history[-1]["loss"] == pytest.approx(16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_tangents": 0}, "n_tangents must be at least 1"),
        ({"n_tangents": 2.5}, "n_tangents must be a whole number"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number"),
        ({"learning_rate": None}, "learning_rate must be a positive number"),
        ({"damping": -1.0}, "damping must be finite and not negative"),
        ({"damping": float("nan")}, "damping must be finite and not negative"),
        ({"damping_mode": "max"}, "damping_mode must be one of relative_max, relative_min"),
        ({"power": -0.1}, r"power must be in \[0, 1\]"),
        ({"power": 1.1}, r"power must be in \[0, 1\]"),
        ({"momentum": 1.0}, r"momentum must be in \[0, 1\)"),
        ({"momentum": 0.5, "adapt": LevenbergMarquardt()}, "without momentum"),
        ({"momentum": 0.5, "optimizer": optax.sgd(0.1)}, "belong to learning_rate"),
        ({"damping": 0.0, "adapt": LevenbergMarquardt()}, "positive damping to start from"),
        ({"chunk_size": 0}, "chunk_size"),
        ({"largest_increase": 0.5}, "largest_increase must be at least 1"),
        ({"max_rejections": 0}, "max_rejections must be at least 1"),
        ({"n_tangents": 1, "keep_last": True}, "keep_last needs n_tangents of at least 2"),
        ({"learning_rate": "a"}, "learning_rate must be a positive number"),
        ({"learning_rate": np.ones(2)}, "learning_rate must be a positive number"),
        ({"damping": 1e39}, "damping must be finite"),
        ({"tangents": GaussianTangents}, "tangents must be a TangentSampler, got the class"),
        ({"adapt": LevenbergMarquardt}, "adapt must be a LevenbergMarquardt, got the class"),
        ({"mesh": 3}, "mesh must be a Mesh, got int"),
    ],
)
def test_options_out_of_range_are_refused(unchecked_signatures, options, message):
    with pytest.raises(ValueError, match=message):
        SOFO(**{"n_tangents": 4, **options})
    for bad in ({"poor": 0.9}, {"up": 0.5}, {"least": 0.0}):
        with pytest.raises(ValueError, match="is needed"):
            LevenbergMarquardt(**bad)


def test_parameters_it_cannot_train_are_refused():
    with pytest.raises(ValueError, match="n_tangents = 4 exceeds the 3 trainable parameters"):
        SOFO(4).init(jnp.zeros(3))
    with pytest.raises(ValueError, match=r"with those of 2 earlier updates\) exceeds the 8"):
        SOFO(3, orthogonal_to=2).init(jnp.zeros(8))
    with pytest.raises(ValueError, match="SOFO needs at least one trainable leaf"):
        SOFO(1).init({"a": None})
    with pytest.raises(ValueError, match=r"a.* is int32"):
        SOFO(1).init({"a": jnp.arange(3), "b": jnp.zeros(2)})
    with pytest.raises(ValueError, match="one precision, float32 or float64; got bfloat16"):
        SOFO(1).init({"a": jnp.zeros(3, jnp.bfloat16)})
    with jax.enable_x64(True), pytest.raises(ValueError, match="got float32, float64"):
        SOFO(1).init({"a": jnp.zeros(3), "b": jnp.zeros(3, jnp.float32)})
    with pytest.raises(ValueError, match=r"trains arrays; .*a.* is a float"):
        SOFO(1).init({"a": 1.0})
    with pytest.raises(ValueError, match="is complex64"):
        SOFO(1).init({"a": jnp.zeros(3, complex)})
    with pytest.raises(ValueError, match=r"exceeds the .* trainable parameters"):
        fit(
            TinyRNN.init(KEY), Accumulate(), optimizer=SOFO(1000), steps=1, batch_size=2, key=KEY,
            progress=False,
        )  # fmt: skip


def test_damping_below_rounding_warns():
    with pytest.warns(UserWarning, match="below the rounding of float32"):
        SOFO(2, damping=1e-9).init(jnp.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SOFO(2, damping=1e-9, damping_mode="absolute").init(jnp.zeros(3))
        with jax.enable_x64(True):
            SOFO(2, damping=1e-9).init(jnp.zeros(3))


def test_an_objective_without_a_recurrence_serves(double_precision):
    objective = Objective(lambda p: jnp.asarray(X) @ p, squared_error)
    sofo = SOFO(3, 1.0, damping=0.0, tangents=IdentityTangents())
    params = jnp.asarray(THETA)
    new, _, info = sofo.update(objective, params, sofo.init(params), KEY)
    np.testing.assert_allclose(new, np.linalg.lstsq(X, TARGET, rcond=None)[0], atol=1e-12)
    assert info.gradient is None
