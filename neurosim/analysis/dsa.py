"""Dynamical similarity analysis: whether two linear systems are one, seen from another side.

Matrices A and B are compared up to an orthogonal change of coordinates C: how near C B C^T comes to
A. The search over C has local optima and two parts, rotations and reflections, which no path
connects: both are searched, from several starts each.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..kernels import whole_number
from .activity import as_floating
from .dmd import DMD
from .estimator import refuse_traced
from .orthogonal_search import nearest_conjugate
from .resampling import as_generator


class DynamicalSimilarity(NamedTuple):
    """Distance of two linear systems; see `dsa`."""

    distance: float
    lower_bound: float
    rotation: np.ndarray | None


def dsa(
    A: Any,
    B: Any,
    *,
    kind: str = "angular",
    dmd: DMD | None = None,
    n_starts: int | np.integer = 16,
    random_state: int | np.integer | np.random.Generator = 0,
) -> DynamicalSimilarity:
    """Distance of two linear systems up to an orthogonal change of coordinates.

    Each matrix is divided by its Frobenius norm, so speed does not count on the whole, only what
    eigenvalues and transients look like next to each other; for `"wasserstein"` it is left as
    it is. What is given is never changed.

    ```python
    dsa(X, Y, dmd=DMD(n_delays=10, rank=6)).distance  # of two recordings
    ```

    **Arguments:**

    - `A`, `B`: square matrices, or fitted `DMD`s; with `dmd`, activity to fit, in the layouts
      that `DMD` takes.
    - `kind`: `"angular"`, the least angle between A and C B C^T, in radians, from 0 to pi;
      `"frobenius"`, the least norm of their difference, from 0 to 2, which is 2 sin(angle / 2);
      `"wasserstein"`, the mean distance in the complex plane between eigenvalues, matched so that
      it is least. The last is fast and exact but blind to what is not normal, and takes systems of
      different sizes: the smaller has eigenvalues of 0 added.
    - `dmd`: how to fit activity. It is not fitted itself. Rank and delays decide everything:
      choose them by held-out prediction, and report how the distance changes with them.
    - `n_starts`: random starts in each part of the orthogonal group, besides those from the
      identity, eigenvectors and singular vectors. Those that fall behind are not followed to their
      ends, and reflections of the best are tried after them.
    - `random_state`: seed or generator of these.

    **Returns:** `DynamicalSimilarity`:

    - `distance`: the least that was found.
    - `lower_bound`: no C does better: from the singular values, from the eigenvalues of the
      symmetric and antisymmetric parts, and from eigenvalues where both matrices are normal. Where
      the two agree, the search has found the optimum; equal to `distance` for `"wasserstein"`.
    - `rotation`: C, `(n, n)`; `None` for `"wasserstein"`.

    **Raises:** `ValueError` for another kind, matrices that are not square, not finite, zero, or
    differ in size; and what `DMD.fit` raises. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Ostrow, Eisen, Kozachkov & Fiete (2023), Beyond geometry: comparing the temporal
    structure of computation in neural circuits with dynamical similarity analysis, NeurIPS 36;
    Hoffman & Wielandt (1953), Duke Mathematical Journal 20, 37-39, and Mirsky (1960), Quarterly
    Journal of Mathematics 11, 50-59, for the bounds.
    """
    if kind not in ("angular", "frobenius", "wasserstein"):
        raise ValueError(f"kind must be 'angular', 'frobenius' or 'wasserstein', got {kind!r}.")
    a, b = _matrix(A, "A", dmd), _matrix(B, "B", dmd)
    starts = whole_number(n_starts, "n_starts", least=1)
    rng = as_generator(random_state)
    if kind == "wasserstein":
        distance = _eigenvalue_distance(a, b)
        return DynamicalSimilarity(distance, distance, None)
    if a.shape != b.shape:
        raise ValueError(
            f"A and B must have one size, got {a.shape} and {b.shape}: fit both with one rank, or "
            "compare eigenvalues with kind='wasserstein'."
        )
    a, b = (_normalised(m, name) for m, name in ((a, "A"), (b, "B")))
    product = _largest_product(a, b)
    # The bound is compared with squares, as they are what rounding leaves.
    best = nearest_conjugate(
        a, b, _starts(a, b, starts, rng), enough=2 - 2 * product + 1e-14, rng=rng
    )
    # By half angles: the arccosine of a product near 1 would lose half of the digits.
    turned = best @ b @ best.T
    angle = 2 * np.arctan2(np.linalg.norm(a - turned), np.linalg.norm(a + turned))
    least = 2 * np.arcsin(np.sqrt(np.clip((1 - product) / 2, 0, 1)))
    distances = [
        float(x) if kind == "angular" else float(2 * np.sin(x / 2)) for x in (angle, least)
    ]
    return DynamicalSimilarity(distances[0], min(distances[1], distances[0]), best)


def _eigenvalue_distance(a: np.ndarray, b: np.ndarray) -> float:
    size = max(len(a), len(b))
    padded = [np.pad(np.linalg.eigvals(m).astype(complex), (0, size - len(m))) for m in (a, b)]
    cost = np.abs(padded[0][:, None] - padded[1])
    return float(cost[linear_sum_assignment(cost)].mean())


def _largest_product(a: np.ndarray, b: np.ndarray) -> float:
    """More than tr(A^T C B C^T) can be for any orthogonal C; both have norm 1."""
    # Each sum pairs sorted values, and the least of valid bounds is one.
    bounds = [np.linalg.svd(a, compute_uv=False) @ np.linalg.svd(b, compute_uv=False)]
    symmetric = [np.linalg.eigvalsh((m + m.T) / 2) for m in (a, b)]
    # An antisymmetric matrix times i is Hermitian.
    skew = [np.linalg.eigvalsh(1j * (m - m.T) / 2) for m in (a, b)]
    bounds.append(symmetric[0] @ symmetric[1] + skew[0] @ skew[1])
    if all(np.linalg.norm(m @ m.T - m.T @ m) < 1e-12 for m in (a, b)):
        values = [np.linalg.eigvals(m) for m in (a, b)]
        gain = np.real(values[0][:, None] * values[1].conj())
        bounds.append(gain[linear_sum_assignment(gain, maximize=True)].sum())
    return float(min(1.0, *bounds))


def _starts(a: np.ndarray, b: np.ndarray, n_random: int, rng: np.random.Generator) -> np.ndarray:
    """Orthogonal matrices to start from, of both determinants where that makes a difference."""
    n = len(a)
    symmetric = [np.linalg.eigh((m + m.T) / 2)[1] for m in (a, b)]
    singular = [np.linalg.svd(m) for m in (a, b)]
    starts = [_aligned(a, b, *symmetric)]
    starts.append(_aligned(a, b, *(vectors[0] for vectors in singular)))
    starts.append(_aligned(a, b, *(vectors[2].T for vectors in singular)))
    starts.append(np.eye(n))
    # C and -C do the same; where these have opposite determinants, one part stands for both.
    n_random = n_random if n % 2 == 0 else 2 * n_random
    starts += [*np.linalg.qr(rng.normal(size=(n_random, n, n)))[0]]
    if n % 2 == 1:
        return np.array(starts)
    mirror = np.diag(np.r_[-np.ones(1), np.ones(n - 1)])
    return np.array([start for each in starts for start in (each, each @ mirror)])


def _aligned(a: np.ndarray, b: np.ndarray, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """P diag(s) Q^T for orthonormal columns P and Q, which are known but for their signs s.

    The product to be large is s^T W s: signs are those of the leading eigenvector, exactly so where
    the two systems are one, and then turned over one by one as long as that helps.
    """
    W = (P.T @ a @ P) * (Q.T @ b @ Q)
    W = W + W.T
    signs = np.where(np.linalg.eigh(W)[1][:, -1] < 0, -1.0, 1.0)
    for _ in range(len(a)):
        gains = np.diagonal(W) - signs * (W @ signs)
        if gains.max() <= 1e-12:
            break
        signs[np.argmax(gains)] *= -1
    return (P * signs) @ Q.T


def _matrix(given: Any, name: str, dmd: DMD | None) -> np.ndarray:
    """A square matrix of float64, from whatever was given."""
    refuse_traced(given, "dsa")
    if dmd is not None:
        return type(dmd)(**dmd.get_params(deep=False)).fit(given).A_
    if isinstance(given, DMD):
        if not hasattr(given, "A_"):
            raise ValueError(f"the DMD given as {name} is not fitted yet: call fit first.")
        return given.A_
    matrix = np.asarray(as_floating(given, name), np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(
            f"{name} must be a square matrix, got shape {matrix.shape}: to compare activity, say "
            "how to fit it with dmd=DMD(...)."
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(f"{name} is not finite at row {int(row)}, column {int(column)}.")
    return matrix


def _normalised(matrix: np.ndarray, name: str) -> np.ndarray:
    largest = np.abs(matrix).max()
    if largest == 0:
        raise ValueError(f"{name} is zero: it has no direction to compare.")
    # Scaled first, so that squares neither overflow nor vanish.
    scaled = matrix / largest
    return scaled / np.linalg.norm(scaled)
