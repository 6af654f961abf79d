"""Hessian-free steps against dense Gauss-Newton matrices, and in `fit`."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sketch_problems import TARGET, THETA, X, flat, one_row, squared_error, tanh_rnn
from tiny_circuits import Accumulate, Constant, TinyRNN, assert_same_bits, constant_trials

from neurosim.training import (
    LevenbergMarquardt,
    Objective,
    TrainingDiverged,
    fit,
    fit_ensemble,
    mean_squared_error,
    member_keys,
)
from neurosim.training.hessian_free import HessianFree

KEY = jax.random.key(0)


def linear_problem():
    return Objective(lambda p: jnp.asarray(X) @ p, squared_error), jnp.asarray(THETA)


def step(rule, objective, params, state=None):
    return rule.update(objective, params, rule.init(params) if state is None else state, KEY)


# --- One step, on its own.


def test_converged_step_is_the_damped_gauss_newton_step(double_precision):
    """Softmax loss of a recurrent network; J and H by jacobian and hessian."""
    damping = 0.01
    params, *_, outputs, loss = tanh_rnn(n_steps=4)
    rule = HessianFree(0.7, damping=damping, cg_steps=1000, tolerance=1e-13)
    new, state, info = step(rule, Objective(outputs, loss), params)
    n = outputs(params).size
    jacobian = jax.jacrev(outputs)(params)
    J = flat(jax.tree.map(lambda j, p: j.reshape(n, *p.shape), jacobian, params), n)
    H = np.asarray(jax.hessian(loss)(outputs(params))).reshape(n, n)
    gradient = flat(one_row(jax.grad(lambda p: loss(outputs(p)))(params)), 1)[0]
    exact = np.linalg.solve(J.T @ H @ J + damping * np.eye(78), gradient)
    moved = flat(one_row(new), 1)[0] - flat(one_row(params), 1)[0]
    np.testing.assert_allclose(moved, -0.7 * exact, rtol=0, atol=1e-10 * np.abs(exact).max())
    told = info.diagnostics
    assert told["step_norm"] == pytest.approx(0.7 * np.linalg.norm(exact), rel=1e-10)
    assert told["gradient_norm"] == pytest.approx(np.linalg.norm(gradient), rel=1e-12)
    assert told["cg_residual"] < 1e-12
    model = 0.7 * gradient @ exact - 0.7**2 / 2 * exact @ J.T @ H @ J @ exact
    assert told["predicted_decrease"] == pytest.approx(model, rel=1e-10)
    assert told["actual_decrease"] == pytest.approx(
        float(loss(outputs(params)) - loss(outputs(new))), rel=1e-12
    )
    assert info.loss == pytest.approx(float(loss(outputs(params))), rel=1e-14)
    assert int(state.count) == 1


def test_least_squares_in_one_step(double_precision):
    """Three unknowns take three iterations."""
    objective, params = linear_problem()
    new, _, info = step(HessianFree(1.0, damping=0.0, cg_steps=3), objective, params)
    np.testing.assert_allclose(new, np.linalg.lstsq(X, TARGET, rcond=None)[0], atol=1e-10)
    assert info.diagnostics["actual_decrease"] == pytest.approx(
        float(info.diagnostics["predicted_decrease"]), rel=1e-9
    )


def test_one_iteration_is_steepest_descent_to_the_line_minimum(double_precision):
    objective, params = linear_problem()
    new, _, info = step(HessianFree(1.0, damping=0.0, cg_steps=1), objective, params)
    gradient = 2 * X.T @ (X @ THETA - TARGET) / 6
    length = gradient @ gradient / (gradient @ (X.T @ X / 3) @ gradient)
    np.testing.assert_allclose(new, THETA - length * gradient, rtol=1e-12)
    # At the minimum along a line the slope along it is zero.
    after = 2 * X.T @ (X @ np.asarray(new) - TARGET) / 6
    assert after @ gradient == pytest.approx(0, abs=1e-13)
    residual = np.linalg.norm(after) / np.linalg.norm(gradient)
    assert info.diagnostics["cg_residual"] == pytest.approx(residual, rel=1e-10)


def test_a_warm_start_goes_on_from_the_last_solution(double_precision):
    objective, params = linear_problem()
    best = THETA - np.linalg.lstsq(X, TARGET, rcond=None)[0]
    whole = HessianFree(1e-3, damping=0.0, cg_steps=3, warm_start=0.5)
    _, state, _ = step(whole, objective, params)
    np.testing.assert_allclose(state.last, best, atol=1e-10)
    # From half the solution, one iteration goes along half the gradient.
    short = HessianFree(1.0, damping=0.0, cg_steps=1, warm_start=0.5)
    _, state, _ = step(short, objective, params, state)
    gradient = 2 * X.T @ (X @ THETA - TARGET) / 6
    length = gradient @ gradient / (gradient @ (X.T @ X / 3) @ gradient)
    np.testing.assert_allclose(state.last, best / 2 + length * gradient / 2, atol=1e-10)
    assert whole.init(params).last.shape == (3,)
    assert HessianFree(1.0).init(params).last is None


def test_damping_follows_the_gain_ratio(double_precision):
    objective, params = linear_problem()
    rule = HessianFree(1.0, damping=1e-3, cg_steps=10, adapt=LevenbergMarquardt())
    _, state, _ = step(rule, objective, params)
    assert state.damping == pytest.approx(1e-3 * 2 / 3)
    # Near the crest of a sine the model promises more than a full step keeps.
    bend = Objective(lambda p: jnp.sin(3 * p), lambda y: jnp.sum((y - 2) ** 2))
    _, state, info = step(rule, bend, jnp.array([0.5]))
    assert info.diagnostics["actual_decrease"] < 0.25 * info.diagnostics["predicted_decrease"]
    assert state.damping == pytest.approx(1.5e-3)


def test_a_schedule_is_asked_for_each_update(double_precision):
    objective, params = linear_problem()
    rule = HessianFree(lambda n: 1.0 / (n + 2), damping=0.0, cg_steps=3)
    best, expected = np.linalg.lstsq(X, TARGET, rcond=None)[0], np.array(THETA)
    state = rule.init(params)
    for n in range(3):
        params, state, _ = step(rule, objective, params, state)
        expected = expected - (expected - best) / (n + 2)
        np.testing.assert_allclose(params, expected, atol=1e-10)


def test_at_a_minimum_it_stays(double_precision):
    objective = Objective(lambda p: p, lambda y: jnp.sum(y**2))
    new, _, info = step(HessianFree(1.0, damping=0.0), objective, jnp.zeros(3))
    np.testing.assert_array_equal(new, 0)
    assert not info.rejected


# --- In fit.


def test_trains_better_than_its_gradient(tmp_path):
    options = {"steps": 20, "batch_size": 32, "key": KEY, "progress": False}
    result = fit(
        TinyRNN.init(KEY), Accumulate(), optimizer=HessianFree(0.5), log_every=10,
        run_dir=tmp_path / "run", **options,
    )  # fmt: skip
    steepest = fit(
        TinyRNN.init(KEY), Accumulate(), optimizer=HessianFree(0.5, cg_steps=1), **options
    )
    assert result.losses[-5:].mean() < 0.05 * result.losses[0]
    assert result.losses[-5:].mean() < 0.2 * steepest.losses[-5:].mean()
    for name in (
        "gradient_norm", "damping", "cg_residual", "step_norm", "predicted_decrease",
        "actual_decrease", "rejected",
    ):  # fmt: skip
        assert np.isfinite(result.history[-1][name]), name
    assert result.history[-1]["rejected"] == 0


def test_a_run_cut_in_two_is_the_same_run(tmp_path):
    rule = HessianFree(0.3, cg_steps=5, warm_start=0.9, adapt=LevenbergMarquardt())
    options = {"optimizer": rule, "batch_size": 8, "key": KEY, "progress": False}
    model, task = TinyRNN.init(KEY), Accumulate()
    whole = fit(model, task, steps=8, **options)
    fit(model, task, steps=3, run_dir=tmp_path / "run", **options)
    rest = fit(model, task, steps=8, run_dir=tmp_path / "run", resume=True, **options)
    assert_same_bits(whole.model, rest.model)
    np.testing.assert_array_equal(whole.losses, rest.losses)


def test_an_ensemble_is_its_members():
    options = {
        "optimizer": HessianFree(0.3, damping=1e-2, cg_steps=5),
        "steps": 4, "batch_size": 8, "progress": False,
    }  # fmt: skip
    task = Accumulate()
    many = fit_ensemble(TinyRNN.init, task, n_seeds=2, key=KEY, **options)
    for i, key in enumerate(member_keys(KEY, 2)):
        model_key, fit_key = jax.random.split(key)
        one = fit(TinyRNN.init(model_key), task, key=fit_key, **options)
        np.testing.assert_allclose(many.losses[i], one.losses, rtol=1e-3)


def test_through_an_adaptive_solver():
    options = {
        "stepsize_controller": diffrax.PIDController(rtol=1e-3, atol=1e-4),
        "solver": diffrax.Tsit5(),
    }
    call = {
        "optimizer": HessianFree(0.3, cg_steps=3),
        "steps": 2, "batch_size": 4, "key": KEY, "progress": False,
    }  # fmt: skip
    task = Accumulate()
    with pytest.raises(ValueError, match=r"adjoint=diffrax\.DirectAdjoint\(\)"):
        fit(TinyRNN.init(KEY), task, simulate_options=options, **call)
    options |= {"adjoint": diffrax.DirectAdjoint(), "max_steps": 64}
    result = fit(TinyRNN.init(KEY), task, simulate_options=options, **call)
    plain = fit(TinyRNN.init(KEY), task, simulate_options={"solver": diffrax.Tsit5()}, **call)
    np.testing.assert_allclose(result.losses, plain.losses, rtol=1e-2)


# --- Where it must refuse.


def test_bad_steps_are_rejected_and_counted_and_raise_the_damping(double_precision):
    params = jnp.asarray(THETA)
    rule = HessianFree(1.0, warm_start=0.5)
    for loss in (
        lambda y: jnp.nan * jnp.sum(y),
        lambda y: jnp.sum(jnp.sqrt(y - y[0])),
        lambda y: jnp.where(jnp.abs(y - X @ THETA).max() < 1e-9, jnp.sum(y**2), jnp.inf),
    ):
        new, state, info = step(rule, Objective(lambda p: jnp.asarray(X) @ p, loss), params)
        assert_same_bits(new, params)
        assert info.rejected
        assert not np.any(info.failed)
        assert int(state.rejected) == int(state.in_a_row) == 1
        assert int(state.count) == 0
        assert state.damping == pytest.approx(1e-3)
        np.testing.assert_array_equal(state.last, 0)
        assert all(np.isfinite(value) for value in info.diagnostics.values())
    # Damping falls back to where it belongs once steps are good.
    _, again, _ = step(rule, linear_problem()[0], params, state)
    assert int(again.in_a_row) == 0
    assert 1e-4 <= float(again.damping) < float(state.damping)


def test_a_run_that_only_rejects_ends_with_the_reason():
    trials = constant_trials([0.0, 0.0, 0.0])
    model = Constant(jnp.array([1.0, 2.0, 3.0]))
    call = {"steps": 20, "key": KEY, "dt": 0.1, "progress": False}

    def concave(trajectory, trials):
        return -mean_squared_error(trajectory, trials)

    # Damping must not grow past the curvature before the run has ended.
    rule = HessianFree(1.0, max_rejections=3)
    with pytest.raises(TrainingDiverged, match="must be convex in the outputs") as caught:
        fit(model, trials, optimizer=rule, loss=concave, **call)
    assert caught.value.step == 3

    def broken(trajectory, trials):
        return mean_squared_error(trajectory, trials) * jnp.nan

    with pytest.raises(TrainingDiverged, match=r"was not finite\. Take a smaller") as caught:
        fit(model, trials, optimizer=HessianFree(1.0), loss=broken, **call)
    assert caught.value.step == 10


def test_a_step_over_the_edge_is_shortened_until_it_stays(double_precision):
    """From 1 to the optimum at 5, where outputs above 4 have no loss.

    The damped step is 8 / (2 + lambda): 0.001, 0.01 and 0.1 go too far, 1 does not.
    """

    def cliff(trajectory, trials):
        error = mean_squared_error(trajectory, trials)
        return jnp.where(trajectory.outputs.max() > 4, jnp.nan, error)

    result = fit(
        Constant(jnp.array([1.0])), constant_trials([5.0]), loss=cliff,
        optimizer=HessianFree(1.0, damping=1e-3), steps=4, log_every=4, key=KEY, dt=0.1,
        progress=False,
    )  # fmt: skip
    assert float(result.model.p[0]) == pytest.approx(1 + 8 / 3, rel=1e-12)
    assert result.history[-1]["rejected"] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"learning_rate": float("inf")}, "learning_rate must be a positive number"),
        ({"damping": -1.0}, "damping must be finite and not negative"),
        ({"damping": float("nan")}, "damping must be finite and not negative"),
        ({"cg_steps": 0}, "cg_steps must be at least 1"),
        ({"cg_steps": 2.5}, "cg_steps must be a whole number"),
        ({"tolerance": 1.0}, r"tolerance must be in \[0, 1\)"),
        ({"warm_start": 1.5}, r"warm_start must be in \[0, 1\]"),
        ({"max_rejections": 0}, "max_rejections must be at least 1"),
        ({"damping": 0.0, "adapt": LevenbergMarquardt()}, "positive damping to start from"),
    ],
)
def test_options_out_of_range_are_refused(unchecked_signatures, options, message):
    with pytest.raises(ValueError, match=message):
        HessianFree(**{"learning_rate": 0.1, **options})


def test_parameters_it_cannot_train_are_refused():
    with pytest.raises(ValueError, match="needs at least one trainable leaf"):
        HessianFree(0.1).init({"a": None})
    with pytest.raises(ValueError, match=r"a.* is int32"):
        HessianFree(0.1).init({"a": jnp.arange(3), "b": jnp.zeros(2)})
    with pytest.raises(ValueError, match="is complex64"):
        HessianFree(0.1).init({"a": jnp.zeros(3, complex)})
