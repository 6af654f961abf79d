"""The closed form of demixed PCA: one factorisation for all penalties and all parts."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg

from .dpca_eigenvectors import leading_eigenvectors
from .pca import orient_axes


class DemixedAxes(NamedTuple):
    """Axes of one part, both `(component, neuron)`: what writes components, and what reads them."""

    encoders: np.ndarray
    decoders: np.ndarray


class DemixedRegression:
    """Reduced-rank regressions of parts X_phi of activity on the whole of it, X.

    For each part, F and D minimise |X_phi - F D X|^2 + mu^2 |F D|^2, F with orthonormal columns.
    With A = X_phi X^T (X X^T + mu^2 I)^-1, F are the leading left singular vectors of
    [A X, mu A] and D = F^T A. Parts are orthogonal, so X_phi X^T = X_phi X_phi^T: all that is
    needed are these matrices, and the eigenvectors of their sum, X X^T, found once for all mu.
    Directions with less than (number of neurons) x 2e-16 of the largest variance are rounding, and
    are left out. One mu alone needs no eigenvectors, where the sum is far enough from singular:
    Cholesky's factor then does the same.

    **Arguments:**

    - `parts`: for each part by name its rows, `(row, neuron)`, as `contrasts` gives them.
    - `noise`: `(neuron, neuron)`, added to X X^T: the covariance of single trials about their
        averages, times the number of cells.
    - `ridge`: the penalty, mu over |X|, where only one will be asked for.

    **Attributes:** `covariances`, X_phi X_phi^T of each part by name, and `squared_norm`, |X|^2.
    """

    def __init__(
        self,
        parts: Mapping[str, np.ndarray],
        *,
        noise: np.ndarray | None = None,
        ridge: float | None = None,
    ) -> None:
        n_rows = sum(len(part) for part in parts.values())
        n_neurons = len(next(iter(parts.values())).T)
        self._basis = None
        if noise is None and n_rows < n_neurons:
            # The smaller of both sides: axes lie in the span of the rows.
            self._basis = np.linalg.qr(np.concatenate(list(parts.values())).T)[0]
            parts = {name: part @ self._basis for name, part in parts.items()}
        self._rows = dict(parts)
        self.covariances = {name: part.T @ part for name, part in parts.items()}
        self._whole = sum(self.covariances.values(), np.zeros(()))
        self.squared_norm = float(np.trace(self._whole))
        self._penalised = self._whole if noise is None else self._whole + noise
        self._ridge, self._factor = ridge, None
        if ridge is not None:
            self._factor = _inverse_factor(self._penalised, ridge**2 * self.squared_norm)

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Eigenvalues, eigenvectors as columns, and products of all covariances with these."""
        g, Q = np.linalg.eigh(self._penalised)
        # Not rounding errors of the largest.
        present = g > len(g) * np.finfo(float).eps * g[-1]
        Q = Q[:, present]
        return g[present], Q, {name: C @ Q for name, C in self.covariances.items()}

    def _whitened(self, part: str, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        """X_phi X_phi^T R and R, where R R^T is the inverse of X X^T + mu^2 I."""
        if self._factor is not None and ridge == self._ridge:
            return self.covariances[part] @ self._factor, self._factor
        g, Q, seen = self._spectrum
        root = 1 / np.sqrt(g + ridge**2 * self.squared_norm)
        return seen[part] * root, Q * root

    def solve(self, part: str, n_components: int | None, ridge: float) -> DemixedAxes:
        """Axes of a part by decreasing variance, signs not settled.

        **Arguments:**

        - `n_components`: at most how many; `None` for all that carry variance.
        - `ridge`: mu over |X|.
        """
        rows = self._rows[part]
        n_rows, n_neurons = rows.shape
        half, root = self._whitened(part, ridge)
        if n_rows == 0 or n_components == 0:
            F = np.zeros((n_neurons, 0))
        else:
            # Left singular vectors lie in the span of the part's rows: the smaller side again.
            span = np.linalg.qr(rows.T)[0] if 2 * n_rows < n_neurons else None
            inner = half if span is None else span.T @ half
            F = self._leading(inner @ inner.T, n_components)
            F = F if span is None else span @ F
        D = (F.T @ half) @ root.T
        return DemixedAxes(self._in_neurons(F.T), self._in_neurons(D))

    def variance(self, axes: DemixedAxes) -> dict[str, np.ndarray]:
        """For each part by name the sum of squares that each component explains of it, alone.

        |X_phi|^2 - |X_phi - f d X_phi|^2 for an encoder f and its decoder d: never more than
        |X_phi|^2, and negative where the component makes it worse.
        """
        f, d = (axis if self._basis is None else axis @ self._basis for axis in axes)
        left = 2 * f - np.sum(f**2, axis=1, keepdims=True) * d
        return {name: np.einsum("kn,kn->k", left, d @ C) for name, C in self.covariances.items()}

    def joint_variance(self, axes: DemixedAxes) -> float:
        """Sum of squares that components explain together, |X|^2 - |X - F D X|^2."""
        f, d = (axis if self._basis is None else axis @ self._basis for axis in axes)
        read = d @ self._whole
        return float(2 * np.sum(read * f) - np.sum((f @ f.T) * (read @ d.T)))

    def _leading(self, M: np.ndarray, n: int | None) -> np.ndarray:
        """Leading eigenvectors of a matrix that is not negative, without those of rounding."""
        size, eps = len(M), np.finfo(float).eps
        most = size if n is None else min(n, size)
        values, vectors = leading_eigenvectors(M, most)
        # Of this part, and of contrasts that would be 0, which hold rounding of the whole.
        rounding = max(size * eps * values[-1], (64 * eps) ** 2 * self.squared_norm)
        return vectors[:, ::-1][:, values[::-1] > rounding]

    def _in_neurons(self, axes: np.ndarray) -> np.ndarray:
        return axes if self._basis is None else axes @ self._basis.T


def _inverse_factor(M: np.ndarray, added: float) -> np.ndarray | None:
    """Triangular R with R R^T the inverse of M + added I; `None` where that is near singular."""
    M = M + added * np.eye(len(M))
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return None
    # In the order of rows that LAPACK takes without a copy.
    (invert,) = scipy.linalg.get_lapack_funcs(("trtri",), (L,))
    R, failed = invert(L.T)
    # The trace of a matrix times that of its inverse is above its condition number.
    return None if failed or np.trace(M) * np.vdot(R, R) > 1e8 else R


def oriented(axes: DemixedAxes) -> DemixedAxes:
    """Axes with the largest loading of each encoder positive, and decoders turned with them."""
    if len(axes.encoders) == 0:
        return axes
    encoders = np.asarray(orient_axes(axes.encoders, np))
    sign = np.sign(np.sum(encoders * axes.encoders, axis=1, keepdims=True))
    return DemixedAxes(encoders, sign * axes.decoders)
