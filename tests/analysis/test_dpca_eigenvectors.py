import numpy as np
import pytest
import scipy.linalg

from neurosim.analysis.dpca_eigenvectors import leading_eigenvectors


def _with(values, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))[0]
    M = (Q * values) @ Q.T
    return (M + M.T) / 2


@pytest.mark.parametrize("size", [1, 2, 3, 4, 40, 130])
@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_are_the_last_of_all_eigenvectors(size, share):
    n = max(1, round(share * size))
    M = _with(np.random.default_rng(size).uniform(0.5, 2, size))
    kept = M.copy()
    values, vectors = leading_eigenvectors(M, n)
    every, all_vectors = np.linalg.eigh(M)
    np.testing.assert_allclose(values, every[-n:], rtol=1e-13)
    np.testing.assert_allclose(
        vectors @ vectors.T, all_vectors[:, -n:] @ all_vectors[:, -n:].T, atol=1e-10
    )
    np.testing.assert_array_equal(M, kept)


@pytest.mark.parametrize(
    "values",
    [np.ones(30), np.zeros(30), np.r_[np.zeros(29), 5], np.repeat([1.0, 2, 3], 10),
     10.0 ** np.arange(-15, 15)],
    ids=["one value", "zero", "rank one", "repeated", "all scales"],
)  # fmt: skip
def test_are_orthonormal_whatever_the_spectrum(values):
    M = _with(values)
    found, vectors = leading_eigenvectors(M, 12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-12)
    size = max(np.abs(values).max(), 1e-300)
    np.testing.assert_allclose(M @ vectors / size, vectors * found / size, atol=1e-13)
    np.testing.assert_allclose(found / size, np.sort(values)[-12:] / size, atol=1e-13)


def test_gives_way_where_the_method_fails(monkeypatch):
    M = _with(np.arange(1.0, 9))
    expected = leading_eigenvectors(M, 3)[0]
    given = scipy.linalg.get_lapack_funcs

    def failing(names, arrays):
        functions = given(names, arrays)
        if "stemr" not in names:
            return functions
        return functions[0], lambda *args, **kwargs: (0, None, None, 1), functions[2]

    monkeypatch.setattr(scipy.linalg, "get_lapack_funcs", failing)
    values, vectors = leading_eigenvectors(M, 3)
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    np.testing.assert_allclose(M @ vectors, vectors * values, atol=1e-12)
