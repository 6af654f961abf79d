"""Marks inside loops of every kind, and inside Diffrax."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.training.marked_loss import mark, no_loss, sketch_marked
from neurosim.training.sketch import sketch

pytestmark = pytest.mark.usefixtures("double_precision")

TANGENTS = np.array([[1.0], [2.0], [-0.5]])
TARGET = 0.3


def square(y, target=TARGET):
    return jnp.sum((y - target) ** 2)


def decay_in_closed_form(a, times):
    """y' = -a y from 1 at given times: sum of squares, and its Gauss-Newton curvature in a."""
    y, dy = np.exp(-a * times), -times * np.exp(-a * times)
    return ((y - TARGET) ** 2).sum(), (2 * (y - TARGET) * dy).sum(), (2 * dy * dy).sum()


def check(found, loss, slope, curvature, rel=1e-12):
    direction = np.asarray(TANGENTS)[:, 0]
    assert found.loss == pytest.approx(loss, rel=rel)
    np.testing.assert_allclose(found.gradient, slope * direction, rtol=rel)
    np.testing.assert_allclose(found.ggn, curvature * np.outer(direction, direction), rtol=rel)


def test_in_a_while_loop():
    def total(a):
        def body(carry):
            i, y, loss = carry
            y = y * jnp.exp(-0.5 * a[0])
            return i + 1, y, loss + mark(square, y)

        return jax.lax.while_loop(lambda c: c[0] < 4, body, (0, jnp.asarray(1.0), no_loss()))[2]

    check(
        sketch_marked(total, jnp.array([0.7]), TANGENTS),
        *decay_in_closed_form(0.7, 0.5 * np.arange(1, 5)),
    )


@pytest.mark.parametrize("controller", ["constant", "adaptive"])
def test_between_segments_that_diffrax_solves(controller):
    step_size = (
        diffrax.ConstantStepSize()
        if controller == "constant"
        else diffrax.PIDController(rtol=1e-10, atol=1e-12)
    )

    def total(a):
        def segment(carry, t):
            y, loss = carry
            solved = diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, a: -a[0] * y), diffrax.Tsit5(), t, t + 0.5, 0.01, y, a,
                stepsize_controller=step_size, adjoint=diffrax.ForwardMode(),
            )  # fmt: skip
            y = solved.ys[0]
            return (y, loss + mark(square, y)), None

        start = (jnp.asarray(1.0), no_loss())
        (_, loss), _ = jax.lax.scan(segment, start, 0.5 * jnp.arange(4))
        return loss

    found = sketch_marked(total, jnp.array([0.7]), TANGENTS)
    check(found, *decay_in_closed_form(0.7, 0.5 * np.arange(1, 5)), rel=1e-8)


def test_in_the_vector_field_of_one_solve():
    """The loss as an integral over time, a state of the equation like any other."""

    def total(a):
        def field(t, state, a):
            y, _ = state
            return -a[0] * y, mark(square, y)

        solved = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 2.0, 0.01, (jnp.asarray(1.0), no_loss()),
            a, adjoint=diffrax.ForwardMode(),
        )  # fmt: skip
        return jax.tree.map(lambda x: x[0], solved.ys[1])

    nodes, weights = np.polynomial.legendre.leggauss(40)
    times, weights = nodes + 1, weights
    y, dy = np.exp(-0.7 * times), -times * np.exp(-0.7 * times)
    check(
        sketch_marked(total, jnp.array([0.7]), TANGENTS),
        (weights * (y - TARGET) ** 2).sum(),
        (weights * 2 * (y - TARGET) * dy).sum(),
        (weights * 2 * dy * dy).sum(),
        rel=1e-9,
    )


def test_arguments_are_traced_and_constant():
    xs = jnp.array([0.2, -0.4, 1.0])

    def total(a):
        def body(loss, x):
            # The target moves with the parameter too, and is a constant of the loss.
            return loss + 0.5 * mark(square, a[0] * x, x**2), None

        return jax.lax.scan(body, no_loss(), xs)[0]

    found = sketch_marked(total, jnp.array([0.7]), TANGENTS)
    y, x = 0.7 * np.asarray(xs), np.asarray(xs)
    slope, curvature = ((y - x**2) * x).sum(), (x * x).sum()
    check(found, 0.5 * ((y - x**2) ** 2).sum(), slope, curvature)


def test_inert_outside_of_a_sketch():
    def total(a):
        return mark(square, jnp.tanh(a)) + 2 * mark(square, a)

    a = jnp.array([0.7])
    expected = (np.tanh(0.7) - TARGET) ** 2 + 2 * (0.7 - TARGET) ** 2
    assert total(a).loss == pytest.approx(expected, rel=1e-14)
    assert total(a).row.shape == (0,)
    slope = 2 * (np.tanh(0.7) - TARGET) / np.cosh(0.7) ** 2 + 4 * (0.7 - TARGET)
    gradient = jax.jit(jax.grad(lambda a: total(a).loss))(a)
    np.testing.assert_allclose(gradient, [slope], rtol=1e-14)
    tangent = jax.jvp(lambda a: total(a).loss, (a,), (a,))[1]
    assert tangent == pytest.approx(0.7 * slope, rel=1e-14)
    # Under a vmap of one's own, one loss for each.
    many = jax.vmap(lambda a: total(a).loss)(jnp.stack([a, 2 * a]))
    assert many[0] == pytest.approx(expected, rel=1e-14)


def test_slopes_go_through_the_arguments_too():
    """On |w|^2 |y|^2 with respect to y and w: (2 |w|^2 y, 2 |y|^2 w)."""

    def total(q):
        return mark(lambda y, w: w * jnp.sum(y**2), q[0], jnp.sum(q[1] ** 2))

    q = (jnp.ones(2), jnp.ones(3))
    by_y, by_w = jax.grad(lambda q: total(q).loss)(q)
    np.testing.assert_allclose(by_y, [6, 6])
    np.testing.assert_allclose(by_w, [4, 4, 4])
    tangents = (jnp.array([[1.0, 0], [0, 0]]), jnp.array([[0.0, 0, 0], [1, 0, 0]]))
    found = sketch_marked(total, q, tangents)
    np.testing.assert_allclose(found.gradient, [6, 4])
    np.testing.assert_allclose(found.ggn, [[6, 0], [0, 0]])


def test_shares_are_summed_and_divided():
    a = jnp.array([0.7])
    found = sketch_marked(lambda a: sum([mark(square, a), mark(square, 2 * a)]) / 2, a, TANGENTS)
    slope, curvature = (0.7 - TARGET) + 2 * (1.4 - TARGET), 1 + 4
    check(found, ((0.7 - TARGET) ** 2 + (1.4 - TARGET) ** 2) / 2, slope, curvature)


def test_a_tree_of_outputs_and_single_precision():
    def total(p):
        return mark(lambda y: jnp.sum(y["a"] ** 2) + jnp.sum(y["b"] ** 2), {"a": p * 2, "b": p})

    with jax.enable_x64(False):
        p = jnp.ones(2, jnp.float32)
        found = sketch_marked(total, p, jnp.eye(2, dtype=jnp.float32))
        np.testing.assert_allclose(found.ggn, [[10, 0], [0, 10]], rtol=1e-6)
        assert found.ggn.dtype == jnp.float32
    p = jnp.ones(2)
    whole = sketch(lambda p: (p * 2, p), lambda y: sum(jnp.sum(a**2) for a in y), p, jnp.eye(2))
    np.testing.assert_allclose(whole.ggn, [[10, 0], [0, 10]], rtol=1e-6)
