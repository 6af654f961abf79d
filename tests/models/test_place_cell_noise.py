"""Noise of rates: moments, information, and the same numbers as the functions of analysis."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import position_fisher_information, separability_threshold
from neurosim.kernels.distance_surface import distance_surface
from neurosim.models.place_cell_noise import ConstantNoise, PoissonLikeNoise

A, B = np.array([[0.1, 30, 5, 12, 0.1]]), np.array([[20, 0.1, 5, 3, 0.1]])
F, J = np.array([26.486657]), np.array([[131.933286]])


@pytest.mark.parametrize(
    ("noise", "variance", "information", "distance"),
    [
        (ConstantNoise(2.0), 4.0, 4351.5981, 37.027287),
        (PoissonLikeNoise(0.5), 20.0, 1326.7575, 30.223807),
    ],
)
def test_each_noise(noise, variance, information, distance):
    r = np.asarray(noise.sample(jax.random.key(0), np.full((20000,), 40.0)))
    # Four standard errors.
    assert r.mean() == pytest.approx(40, abs=4 * (variance / 20000) ** 0.5)
    assert r.var() == pytest.approx(variance, rel=4 * (2 / 20000) ** 0.5)
    assert float(noise.variance(np.array([40.0]))[0]) == pytest.approx(variance)
    assert noise.sample(jax.random.key(1), np.full(1000, 0.1)).min() == 0
    assert noise.fisher(F, J)[0, 0] == pytest.approx(information, rel=1e-7)
    options = {"noise": noise.kind, "level": noise.level}
    assert noise.fisher(F, J) == pytest.approx(position_fisher_information(F, J, **options))
    assert noise.fisher(jnp.asarray(F), J).dtype == jnp.result_type(float)
    assert noise.threshold(100) == separability_threshold(100, **options)
    assert noise.min_distance(A, B).value == pytest.approx(distance, abs=1e-6)
    assert noise.distance_surface(A, B)[0, 0] == pytest.approx(distance, abs=1e-6)
    rates = np.random.default_rng(0).gamma(1, 10, (2, 9, 6))
    surface = noise.distance_surface(rates[0], rates[1, :4])
    found = noise.min_distance(rates[0], rates[1, :4])
    assert surface.shape == (9, 4)
    assert surface.min() == pytest.approx(found.value, rel=1e-9)
    assert surface[found.index_a, found.index_b] == surface.min()


def test_information_of_jax_can_be_differentiated():
    """d I / d phi = -J^2 / (phi^2 f)."""
    f, level = jnp.asarray(F), jnp.asarray(2.0)
    slope = jax.jit(jax.grad(lambda phi: PoissonLikeNoise(phi).fisher(f, J)[0, 0]))(0.5)
    assert slope == pytest.approx(-(131.933286**2) / (0.25 * 26.486657), rel=1e-5)
    # Under someone's jit, values that are known there are still checked.
    found = jax.jit(lambda x: ConstantNoise(level).fisher(f, x))(J)
    assert found[0, 0] == pytest.approx(4351.5981, rel=1e-5)
    # At no noise, and at no rate, derivatives are finite.
    key = jax.random.key(0)

    @jax.jit
    @jax.grad
    def slopes(at):
        f, sigma = at
        total = ConstantNoise(sigma).sample(key, f) + PoissonLikeNoise(1.0).sample(key, f)
        return total.sum()

    of_rates, of_sigma = slopes((jnp.zeros(3), 0.0))
    assert np.isfinite(of_rates).all()
    assert np.isfinite(of_sigma)


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_refused():
    for make, message in (
        (lambda: ConstantNoise(-1.0), "sigma must be"),
        (lambda: ConstantNoise(np.nan), "sigma must be"),
        (lambda: PoissonLikeNoise(0.0), "phi must be"),
        (lambda: PoissonLikeNoise(np.ones(2)), "phi must be one number"),
        (lambda: ConstantNoise(0.0).fisher(F, J), "level must be positive"),
        (lambda: ConstantNoise(1.0).fisher(F, J[0]), "jacobian must"),
        (lambda: ConstantNoise(1.0).threshold(0), "n_cells must"),
        (lambda: distance_surface(A, B[:, 1:]), "same cells"),
        (lambda: distance_surface(-A, B), "FA must hold rates"),
        (lambda: distance_surface(A, B, "none"), "noise must be"),  # pyright: ignore
    ):
        with pytest.raises(ValueError, match=message):
            make()
