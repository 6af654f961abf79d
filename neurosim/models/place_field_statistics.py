"""How many place fields a cell has in an environment: gamma-Poisson counts."""

from typing import Any

import equinox as eqx
import numpy as np

from .dynamics import fixed_field


class Environment(eqx.Module):
    """A linear track `[0, size]`, or a square box `[0, size]^2`.

    - `size`: length of the track, or of a side of the box, in m.
    - `dim`: 1 or 2.
    """

    size: float | int = fixed_field()
    dim: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        check_positive(size=self.size)
        if self.dim not in (1, 2):
            raise ValueError(f"dim must be 1 or 2, got {self.dim!r}.")

    @property
    def extent(self) -> float:
        """Length in m of a track, area in m^2 of a box."""
        return float(self.size) ** self.dim

    def grid(self, n_bins: int) -> np.ndarray:
        """Positions evenly spaced with the walls among them, `(n_bins ** dim, dim)`."""
        if not (isinstance(n_bins, (int, np.integer)) and n_bins >= 2):
            raise ValueError(f"n_bins must be a whole number from 2 on, got {n_bins!r}.")
        axis = np.linspace(0.0, float(self.size), int(n_bins))
        axes = np.meshgrid(*[axis] * self.dim, indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, self.dim)


class FieldStatistics(eqx.Module):
    """Numbers of place fields: Poisson, of a propensity that is gamma over cells.

        lambda ~ Gamma(alpha, rate beta0 / extent),    k ~ Poisson(lambda)

    A cell draws anew, and independently, in every context. Counts are negative binomial.

    - `alpha`: shape.
    - `beta0`: rate times extent, in m on a track and in m^2 in a box: larger rooms hold more
        fields.
    - `dim`: 1 or 2, that of the environments it holds for.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, appendix A.1.
    """

    alpha: float | int = fixed_field()
    beta0: float | int = fixed_field()
    dim: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        check_positive(alpha=self.alpha, beta0=self.beta0)
        if self.dim not in (1, 2):
            raise ValueError(f"dim must be 1 or 2, got {self.dim!r}.")

    @classmethod
    def preset(cls, name: str) -> "FieldStatistics":
        """`"rooke2024_1d"`, `"rooke2024_2d"`, or `"rich2014"`, of a 48 m track.

        **Raises:** `ValueError` for another name.
        """
        presets = {
            "rooke2024_1d": (1.5, 4.0, 1),
            "rooke2024_2d": (2.25, 8.0, 2),
            "rich2014": (0.57, 48 * 0.14 / 0.86, 1),
        }
        if name not in presets:
            raise ValueError(f"name must be one of {', '.join(presets)}, got {name!r}.")
        return cls(*presets[name])

    def beta(self, environment: Environment) -> float:
        """Rate of the gamma distribution in this environment."""
        if environment.dim != self.dim:
            raise ValueError(
                f"statistics of {self.dim} dimension(s) got an environment of {environment.dim}."
            )
        return float(self.beta0) / environment.extent

    def pmf(self, counts: Any, environment: Environment) -> np.ndarray:
        """Probabilities of these numbers of fields, of the shape of `counts`.

        **Raises:** `ValueError` for counts that are negative or not whole.
        """
        from scipy.special import gammaln

        k = np.asarray(counts)
        if not np.issubdtype(k.dtype, np.integer) or (k < 0).any():
            raise ValueError(f"counts must be whole numbers from 0 on, got {counts}.")
        alpha, beta = float(self.alpha), self.beta(environment)
        log_p = gammaln(k + alpha) - gammaln(k + 1.0) - gammaln(alpha)
        return np.exp(log_p - alpha * np.log1p(1 / beta) - k * np.log1p(beta))

    def active_fraction(self, environment: Environment) -> float:
        """Fraction of cells with a field."""
        return float(-np.expm1(-float(self.alpha) * np.log1p(1 / self.beta(environment))))

    def mean_fields(self, environment: Environment) -> float:
        """Mean number of fields of a cell, silent ones included."""
        return float(self.alpha) / self.beta(environment)

    def max_fields(self, environment: Environment, *, tail: float | int = 1e-6) -> int:
        """The smallest number of fields that a cell exceeds with a probability below `tail`."""
        if not 0 < tail < 1:
            raise ValueError(f"tail must be between 0 and 1, got {tail}.")
        n = 64
        while True:
            above = self._tails(n, environment)
            if above[-1] < tail:
                return int(np.argmax(above < tail))
            n *= 2

    def _tails(self, n: int, environment: Environment) -> np.ndarray:
        """P(count > k) for k below n, each sum from its small end so that none cancels."""
        # Beyond these the pmf falls at least as fast as a geometric series of its last ratio.
        p = self.pmf(np.arange(n + 1), environment)
        ratio = min((n + float(self.alpha)) / (n + 1) / (1 + self.beta(environment)), 1 - 1e-9)
        rest = p[n] / (1 - ratio)
        return rest + np.append(np.cumsum(p[1:n][::-1])[::-1], 0.0)


def check_positive(**values: Any) -> None:
    """Refuse what is not positive and finite."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite, got {value}.")
