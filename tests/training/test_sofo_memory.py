"""What compiled updates keep in memory while they run, by XLA's own count, against trial length."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest

from neurosim.models import VanillaRNN
from neurosim.tasks import Trials
from neurosim.training import SOFO, mark, mean_squared_error, sketch, sketch_marked, sketch_scan
from neurosim.training.marked_loss import no_loss
from neurosim.training.training_checks import checked_setup
from neurosim.training.training_step import first_state, train_step

N_UNITS, BATCH, N_TANGENTS = 8, 4, 6
SHORT, LONG = 100, 6400
KEY = jax.random.key(0)


def temporary_bytes(fn, *arguments):
    """Bytes beyond arguments and results; the arguments may be shapes."""
    memory = jax.jit(fn).lower(*arguments).compile().memory_analysis()
    assert memory is not None
    return memory.temp_size_in_bytes


def floats(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def step(p, z, x):
    z = jnp.tanh(z @ p["W"].T + x @ p["B"].T)
    return z, z @ p["C"].T


def start(p):
    return jnp.zeros((BATCH, N_UNITS)) + p["z0"]


def share(y, target):
    return jnp.mean((y - target) ** 2)


PARAMS = {
    "W": floats(N_UNITS, N_UNITS),
    "B": floats(N_UNITS, 2),
    "C": floats(1, N_UNITS),
    "z0": floats(N_UNITS),
}


def test_a_scan_keeps_one_step():
    sofo = SOFO(N_TANGENTS, 0.1)

    def update(params, xs, targets):
        def sketch_fn(p, v):
            return sketch_scan(step, share, start, p, v, xs, targets)

        return sofo.step(params, sofo.init(params), sketch_fn, KEY)[0]

    def through_time(params, xs, targets):
        def loss(p):
            _, y = jax.lax.scan(lambda z, x: step(p, z, x), start(p), xs)
            return jnp.mean((y - targets) ** 2)

        return jax.grad(loss)(params)

    def compiled(fn, length):
        return temporary_bytes(fn, PARAMS, floats(length, BATCH, 2), floats(length, BATCH, 1))

    short, long = compiled(update, SHORT), compiled(update, LONG)
    assert abs(long / short - 1) < 0.02
    # The tangents of the state, at the least.
    assert short > 4 * N_TANGENTS * BATCH * N_UNITS
    short, long = compiled(through_time, SHORT), compiled(through_time, LONG)
    assert long / short == pytest.approx(LONG / SHORT, rel=0.1)


def bytes_of_a_training_step(optimizer, n_steps, *, n_units=64, batch=32, **options):
    """Of what `fit` compiles, with the trials as arguments."""
    model = VanillaRNN.init(n_units, 2, 1, key=KEY)
    given = Trials(jnp.zeros((batch, 1, 2)), jnp.zeros((batch, 1, 1)), jnp.ones((batch, 1, 1)), {})
    setup = checked_setup(
        model, given, optimizer=optimizer, batch_size=None, loss=mean_squared_error, dt=1.0,
        trainable=None, constraints=(), simulate_options=options,
    )  # fmt: skip
    params = eqx.filter(model, setup.trainable)
    frozen = eqx.filter(model, setup.trainable, inverse=True)
    # Only arrays can be arguments of a compiled function.
    state, static = eqx.partition(first_state(setup, params), eqx.is_array)

    def update(state, inputs, targets, mask):
        own = eqx.tree_at(lambda s: s.source, setup, Trials(inputs, targets, mask, {}))
        whole = eqx.combine(state, static)
        new, told = train_step(own, whole, frozen, model, KEY, jnp.zeros((), jnp.int32))
        return eqx.filter(new, eqx.is_array), told

    shapes = [floats(batch, n_steps, width) for width in (2, 1, 1)]
    return temporary_bytes(update, state, *shapes)


@pytest.mark.parametrize("options", [{}, {"noise": 0.1}, {"solver": diffrax.Tsit5()}])
def test_a_training_step_of_fit_keeps_one_step(options):
    sofo = SOFO(32, 0.1)
    short, long = (bytes_of_a_training_step(sofo, n, **options) for n in (SHORT, LONG))
    assert abs(long / short - 1) < 0.02


def test_back_propagation_in_fit_keeps_the_trial():
    adam = optax.adam(1e-3)
    short, long = (bytes_of_a_training_step(adam, n) for n in (SHORT, LONG))
    assert long / short == pytest.approx(LONG / SHORT, rel=0.1)
    # Activity at every step, at the least.
    assert long > 4 * 32 * LONG * 64


def solve(p, y0, n_steps):
    solution: Any = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, p: -y + jnp.tanh(y @ p["W"].T)), diffrax.Tsit5(),
        0.0, 0.01 * n_steps, 0.01, y0, p,
        adjoint=diffrax.ForwardMode(), max_steps=n_steps + 1,
    )  # fmt: skip
    return solution.ys[0]


def test_a_solve_keeps_one_step():
    def update(n_steps):
        def compiled(p, v):
            def outputs(p):
                return solve(p, start(p), n_steps) @ p["C"].T

            return sketch(outputs, lambda y: jnp.mean(y**2), p, v)

        return compiled

    tangents = jax.tree.map(lambda x: floats(N_TANGENTS, *x.shape), PARAMS)
    short, long = (temporary_bytes(update(n), PARAMS, tangents) for n in (SHORT, LONG))
    assert abs(long / short - 1) < 0.02


def test_marks_between_solves_keep_one_of_them():
    """Supervised at every tenth step of the solver."""

    def update(params, tangents, targets):
        def total(p):
            def segment(carry, target):
                y, loss = carry
                y = solve(p, y, 10)
                return (y, loss + mark(share, y @ p["C"].T, target)), None

            (_, loss), _ = jax.lax.scan(segment, (start(p), no_loss()), targets)
            return loss

        return sketch_marked(total, params, tangents)

    tangents = jax.tree.map(lambda x: floats(N_TANGENTS, *x.shape), PARAMS)
    short, long = (
        temporary_bytes(update, PARAMS, tangents, floats(n // 10, BATCH, 1)) for n in (SHORT, LONG)
    )
    assert abs(long / short - 1) < 0.02
