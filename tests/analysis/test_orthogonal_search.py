import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from neurosim.analysis.orthogonal_search import _Descents, nearest_conjugate


def _orthogonal(rng, n, n_starts):
    return np.linalg.qr(rng.normal(size=(n_starts, n, n)))[0]


def _pair(n, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, n))
    return a / np.linalg.norm(a), b / np.linalg.norm(b), rng


def _squared(a, b, C):
    return np.sum((a - C @ b @ C.T) ** 2)


def test_gradients_are_those_of_the_value():
    a, b, rng = _pair(5)
    C = _orthogonal(rng, 5, 3)
    value, gradient = _Descents(a, b, C)._measure(C)
    K = rng.normal(size=(5, 5))
    K -= K.T
    for each, v, g in zip(C, value, gradient):
        assert v == pytest.approx(_squared(a, b, each), rel=1e-12)
        ahead, back = (_squared(a, b, scipy.linalg.expm(h * K) @ each) for h in (1e-5, -1e-5))
        assert np.sum(g.reshape(5, 5) * K) / 2 == pytest.approx((ahead - back) / 2e-5, rel=1e-7)


def test_steps_stay_orthogonal_and_never_go_up():
    a, b, rng = _pair(6)
    descents = _Descents(a, b, _orthogonal(rng, 6, 4))
    for _ in range(20):
        before = descents.value
        descents.step_on(1)
        assert (descents.value <= before * (1 + 1e-15)).all()
    C = descents.C
    np.testing.assert_allclose(C @ C.swapaxes(1, 2), np.tile(np.eye(6), (4, 1, 1)), atol=1e-13)
    np.testing.assert_allclose(descents.value, [_squared(a, b, each) for each in C], rtol=1e-12)


def test_the_best_are_kept_with_what_they_know():
    a, b, rng = _pair(6)
    starts = _orthogonal(rng, 6, 5)
    some, all_of_them = _Descents(a, b, starts), _Descents(a, b, starts)
    some.step_on(9)
    order = np.argsort(some.value)
    some.keep_best(2)
    for descents, n_steps in ((some, 11), (all_of_them, 20)):
        descents.step_on(n_steps)
    np.testing.assert_allclose(some.C, all_of_them.C[order[:2]], atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_symmetric_matrices_pair_sorted_eigenvalues(n):
    a, b, rng = _pair(n)
    a, b = a + a.T, b + b.T
    exact = np.sum((np.linalg.eigvalsh(a) - np.linalg.eigvalsh(b)) ** 2)
    C = nearest_conjugate(a, b, _orthogonal(rng, n, 4), enough=0.0, rng=rng)
    assert _squared(a, b, C) == pytest.approx(exact, abs=1e-14)


@pytest.mark.parametrize("seed", range(2))
def test_is_as_low_as_descents_by_another_method(seed):
    n = 4
    a, b, rng = _pair(n, seed)
    starts = _orthogonal(rng, n, 12)
    upper = np.triu_indices(n, 1)

    def value(k, start):
        K = np.zeros((n, n))
        K[upper] = k
        return _squared(a, b, scipy.linalg.expm(K - K.T) @ start)

    lowest = min(
        scipy.optimize.minimize(value, np.zeros(len(upper[0])), args=(start,)).fun
        for start in starts[:3]
    )
    C = nearest_conjugate(a, b, starts, enough=0.0, rng=rng)
    assert _squared(a, b, C) <= lowest + 1e-9
    # Nowhere to go from there: of first order, 1e-15 of the value is left.
    assert np.linalg.norm(_Descents(a, b, C[None]).gradient) < 1e-6


def test_reflections_find_what_starts_do_not():
    # All starts are the same, at a maximum: eigenvalues in opposite order.
    a, b = (np.diag(x) / np.sqrt(14) for x in ([3.0, 2, 1], [1.0, 2, 3]))
    start = np.eye(3)[None]
    C = nearest_conjugate(a, b, start, enough=0.0, rng=np.random.default_rng(0))
    assert _squared(a, b, C) == pytest.approx(0, abs=1e-14)


def test_is_over_with_what_is_enough():
    a, b, rng = _pair(4)
    starts = np.concatenate([np.eye(4)[None], _orthogonal(rng, 4, 3)])
    # The system itself is among the starts, and nothing is drawn.
    C = nearest_conjugate(a, a, starts, enough=1e-14, rng=rng)
    np.testing.assert_allclose(C, np.eye(4), atol=1e-12)
    state = rng.bit_generator.state
    nearest_conjugate(a, b, starts, enough=4.0, rng=rng)
    assert rng.bit_generator.state == state
