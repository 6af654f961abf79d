"""How alike two dissimilarity matrices are, and how alike by chance."""

from typing import Any

import numpy as np

from ..kernels import whole_number
from .activity import as_floating
from .estimator import refuse_traced
from .rdm import RDM
from .resampling import as_generator, permutation_p_value
from .shuffle_test import ShuffleTest

_MEASURES = ("cosine", "pearson", "spearman", "kendall_tau_a", "whitened_cosine")


def compare_rdms(
    first: Any,
    second: Any,
    *,
    measure: str = "cosine",
    condition_noise: Any = None,
) -> float:
    """How alike two dissimilarity matrices of the same conditions are.

    - `"cosine"`: of the angle between the dissimilarities of all pairs; 0 means no difference, so
        it suits distances whose zero is meant, as of `crossnobis`.
    - `"pearson"`: their correlation.
    - `"spearman"`: the correlation of their ranks, ties having their mean rank.
    - `"kendall_tau_a"`: concordant less discordant pairs of pairs, over all of them. Ties count as
        neither, so that a model with many ties is not favoured.
    - `"whitened_cosine"`: the cosine after taking out that dissimilarities which share a condition
        have correlated errors, as squared distances have without a true difference. It equals the
        centred kernel alignment of the matrices of inner products.

    **Arguments:**

    - `first`, `second`: `RDM`, or `(condition, condition)`, symmetric with zeros on the diagonal;
      or the entries above the diagonal, row by row, as a vector.
    - `measure`: see above.
    - `condition_noise`: for `"whitened_cosine"`, variances of the patterns by condition,
      `(condition,)`, as 1 / trials where these differ; or their covariance,
      `(condition, condition)`. By default all are alike.

    **Returns:** a float from -1 to 1.

    **Raises:** `ValueError` for matrices that differ in conditions, or are not symmetric or not
    finite, fewer than three conditions, another measure, dissimilarities without a direction (all
    zero, or all equal where ranks or correlations are compared), or condition noise that does not
    fit. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Nili et al. (2014), A toolbox for representational similarity analysis, PLoS
    Computational Biology 10, e1003553, for tau-a; Diedrichsen, Berlot, Mur, Schütt, Shahbazi &
    Kriegeskorte (2021), Comparing representational geometries using whitened unbiased-distance-
    matrix similarity, Neurons, Behavior, Data analysis, and Theory 5(3).
    """
    if measure not in _MEASURES:
        raise ValueError(
            f"measure must be one of {', '.join(map(repr, _MEASURES))}, got {measure!r}."
        )
    a, b = _read_rdms(first, second)
    return _compared(a, b, measure, _read_condition_noise(condition_noise, len(a), measure))


def rdm_shuffle_test(
    first: Any,
    second: Any,
    *,
    measure: str = "cosine",
    condition_noise: Any = None,
    n_shuffles: int | np.integer = 1000,
    random_state: int | np.integer | np.random.Generator = 0,
) -> ShuffleTest:
    """Whether two dissimilarity matrices are more alike than with the conditions of one shuffled.

    Conditions are shuffled, not entries, since entries of one condition belong together. With few
    conditions there are few different shuffles: p cannot be small.

    **Arguments:**

    - `first`, `second`, `measure`, `condition_noise`: as for `compare_rdms`; the conditions of
      `second` are shuffled.
    - `n_shuffles`, `random_state`: number of shuffles, and their seed or generator.

    **Returns:** `ShuffleTest`: `value`, `p_value` and `null`, see `shuffle_test`.

    **Raises:** as `compare_rdms`; `ValueError` for no shuffles.

    **Reference:** Kriegeskorte, Mur & Bandettini (2008), Representational similarity analysis,
    Frontiers in Systems Neuroscience 2, 4.
    """
    value = compare_rdms(first, second, measure=measure, condition_noise=condition_noise)
    a, b = _read_rdms(first, second)
    noise = _read_condition_noise(condition_noise, len(a), measure)
    rng = as_generator(random_state)
    null = np.empty(whole_number(n_shuffles, "n_shuffles", least=1))
    for i in range(len(null)):
        order = rng.permutation(len(b))
        null[i] = _compared(a, b[np.ix_(order, order)], measure, noise)
    return ShuffleTest(value, permutation_p_value(value, null), null)


def _compared(a: np.ndarray, b: np.ndarray, measure: str, noise: np.ndarray | None) -> float:
    if measure == "whitened_cosine":
        A, B = (_whitened(d, noise) for d in (a, b))
        return _cosine(A.ravel(), B.ravel())
    upper = np.triu_indices(len(a), 1)
    x, y = a[upper], b[upper]
    if measure == "kendall_tau_a":
        return _tau_a(x, y)
    if measure == "spearman":
        # Imported where it is used, since it takes longer to import than all analyses together.
        from scipy.stats import rankdata

        x, y = rankdata(x), rankdata(y)
    if measure in ("pearson", "spearman"):
        x, y = (_centred(v) for v in (x, y))
    return _cosine(x, y)


def _whitened(d: np.ndarray, noise: np.ndarray | None) -> np.ndarray:
    """Inner products of patterns about their mean, in coordinates in which errors are alike.

    A squared distance is d_ab = c^T G c, with c = e_a - e_b. Its errors covary as
    (c_ab^T S c_cd)^2, S the covariance of patterns between conditions, which is the inner product
    of S^(1/2) c_ab c_ab^T S^(1/2) and the like of c and d. So distances times the inverse of
    their error covariance give inner products of S^(-1/2) G S^(-1/2), on the space of contrasts.
    """
    n = len(d)
    if noise is None:
        centring = np.eye(n) - 1 / n
        return -0.5 * centring @ d @ centring
    # An orthonormal basis of contrasts: what is orthogonal to (1, ..., 1).
    basis = np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1]
    L = np.linalg.cholesky(basis.T @ noise @ basis)
    G = -0.5 * basis.T @ d @ basis
    return np.linalg.solve(L, np.linalg.solve(L, G).T)


def _tau_a(x: np.ndarray, y: np.ndarray) -> float:
    """Kendall's tau-a, from tau-b, which divides by the pairs that are not tied."""
    from scipy.stats import kendalltau

    n_pairs = len(x) * (len(x) - 1) / 2

    def untied(v: np.ndarray) -> float:
        counts = np.unique(v, return_counts=True)[1]
        return n_pairs - float(np.sum(counts * (counts - 1) / 2))

    free_x, free_y = untied(x), untied(y)
    if free_x == 0 or free_y == 0:
        raise ValueError("all dissimilarities of a matrix are equal: they have no ranks.")
    tau_b: Any = kendalltau(x, y)
    return float(tau_b.statistic) * (free_x * free_y) ** 0.5 / n_pairs


def _centred(v: np.ndarray) -> np.ndarray:
    if (v == v[0]).all():
        raise ValueError("all dissimilarities of a matrix are equal: they do not correlate.")
    return v - v.mean()


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    lengths = np.linalg.norm(x) * np.linalg.norm(y)
    if lengths == 0:
        raise ValueError("all dissimilarities of a matrix are 0: there is no angle.")
    return float(np.clip(x @ y / lengths, -1, 1))


def _read_rdms(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = (_read_rdm(x, name) for x, name in ((first, "first"), (second, "second")))
    if a.shape != b.shape:
        raise ValueError(f"both matrices must have the same conditions, got {len(a)} and {len(b)}.")
    if isinstance(first, RDM) and isinstance(second, RDM):
        for name in set(first.conditions) & set(second.conditions):
            if not np.array_equal(first.conditions[name], second.conditions[name]):
                raise ValueError(
                    f"the conditions differ in {name!r}: {first.conditions[name]} and "
                    f"{second.conditions[name]}. Pass the matrices alone where that is as meant."
                )
    if len(a) < 3:
        raise ValueError(f"matrices of {len(a)} conditions cannot be compared: three are needed.")
    return a, b


def _read_rdm(x: Any, name: str) -> np.ndarray:
    given = x.dissimilarities if isinstance(x, RDM) else x
    refuse_traced(given, "a comparison of RDMs")
    d = np.asarray(as_floating(given, name), np.float64)
    if not np.isfinite(d).all():
        raise ValueError(
            f"{name} holds {int((~np.isfinite(d)).sum())} dissimilarities that are not finite. "
            "Leave their conditions out."
        )
    if d.ndim == 1:
        n = round((1 + (1 + 8 * len(d)) ** 0.5) / 2)
        if n * (n - 1) // 2 != len(d) or len(d) == 0:
            raise ValueError(
                f"{name} has {len(d)} entries, which is no number of pairs of conditions."
            )
        square = np.zeros((n, n))
        square[np.triu_indices(n, 1)] = d
        return square + square.T
    if d.ndim != 2 or d.shape[0] != d.shape[1] or d.size == 0:
        raise ValueError(f"{name} must be (condition, condition), got shape {d.shape}.")
    rounding = 1e-6 * np.abs(d).max()
    if (np.abs(d - d.T) > rounding).any() or (np.abs(np.diagonal(d)) > rounding).any():
        raise ValueError(f"{name} must be symmetric, with zeros on the diagonal.")
    return d


def _read_condition_noise(noise: Any, n: int, measure: str) -> np.ndarray | None:
    if noise is None:
        return None
    if measure != "whitened_cosine":
        raise ValueError(f"condition_noise is for 'whitened_cosine', not for {measure!r}.")
    S = np.asarray(as_floating(noise, "condition_noise"), np.float64)
    if S.shape not in ((n,), (n, n)):
        raise ValueError(f"condition_noise must be ({n},) or ({n}, {n}), got shape {S.shape}.")
    S = np.diag(S) if S.ndim == 1 else S
    if not np.isfinite(S).all() or not np.allclose(S, S.T) or np.linalg.eigvalsh(S)[0] <= 0:
        raise ValueError("condition_noise must be finite, symmetric and positive definite.")
    return S
