"""Noise of place cells: constant, or with a variance that goes with the rate."""

import abc
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import NearestPair, min_distance, safe_sqrt
from ..kernels.distance_surface import distance_surface
from ..kernels.rate_noise import (
    position_information,
    rate_noise_variance,
    separability_thresholds,
)
from .dynamics import fixed_field


class RateNoise(eqx.Module):
    """Independent Gaussian noise of the rate of each cell.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, section 2.
    """

    kind: eqx.AbstractClassVar[Literal["constant", "poisson"]]

    @property
    @abc.abstractmethod
    def level(self) -> Any:
        """Strength in Hz, as the functions of `neurosim.analysis` take it with `noise=kind`."""

    def sample(self, key: PRNGKeyArray, rates: Any) -> Float[Array, "..."]:
        """Responses to rates `(..., cell)`, rectified: none is negative."""
        f = jnp.asarray(rates, float)
        noise = safe_sqrt(self.variance(f)) * jax.random.normal(key, f.shape, f.dtype)
        return jnp.maximum(f + noise, 0)

    def variance(self, rates: Any) -> Any:
        """Variance of the noise at rates `(..., cell)`, in Hz^2, of their kind."""
        return rate_noise_variance(rates, noise=self.kind, level=self.level)

    def fisher(self, rates: Any, jacobian: Any) -> Any:
        """Fisher information about position, `(..., dim, dim)` per m^2.

        **Arguments:** `rates`: `(..., cell)` in Hz. `jacobian`: `(..., cell, dim)` in Hz per m.

        Rectification is left out of account. JAX where an argument is, and differentiable.
        """
        return position_information(rates, jacobian, noise=self.kind, level=self.level)

    def threshold(self, n_cells: int, q: float | int = 2.0) -> float:
        """The distance of the nearest pair above which contexts of `n_cells` are separable."""
        return float(separability_thresholds(n_cells, noise=self.kind, level=self.level, q=q))

    def min_distance(self, FA: Any, FB: Any) -> NearestPair:
        """The nearest pair of rates `(position, cell)` of two contexts; see the kernel."""
        return min_distance(FA, FB, self.kind)

    def distance_surface(self, FA: Any, FB: Any) -> np.ndarray:
        """Distances of all pairs, `(position, position)`; see the kernel."""
        return distance_surface(FA, FB, self.kind)


class ConstantNoise(RateNoise):
    """Noise with the same standard deviation at every rate.

    - `sigma`: in Hz.
    """

    sigma: Any = fixed_field()
    kind: ClassVar[Literal["constant"]] = "constant"

    def __check_init__(self):
        _check("sigma", self.sigma, positive=False)

    @property
    def level(self) -> Any:
        """`sigma`."""
        return self.sigma


class PoissonLikeNoise(RateNoise):
    """Noise with variance `phi f(x)`.

    - `phi`: in Hz. That of a Poisson count over a time T is 1 / T.
    """

    phi: Any = fixed_field()
    kind: ClassVar[Literal["poisson"]] = "poisson"

    def __check_init__(self):
        _check("phi", self.phi, positive=True)

    @property
    def level(self) -> Any:
        """`phi`."""
        return self.phi


def _check(name: str, value: Any, *, positive: bool) -> None:
    if isinstance(value, jax.core.Tracer) or not eqx.is_array_like(value):
        return
    good = np.isfinite(value) & ((np.asarray(value) > 0) if positive else (np.asarray(value) >= 0))
    if np.ndim(value) != 0 or not good:
        what = "positive" if positive else "not negative"
        raise ValueError(f"{name} must be one number, finite and {what}, got {value}.")
