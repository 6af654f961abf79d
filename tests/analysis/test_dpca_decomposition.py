import numpy as np
import pytest

from neurosim.analysis.dpca_decomposition import DemixedAxes, DemixedRegression, oriented
from neurosim.analysis.dpca_marginalisation import contrasts, joined_terms, marginalise

FACTORS = ("stimulus", "decision", "time")
TERMS = joined_terms(FACTORS, "time")


def _averages(n_neurons, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 2, 5, n_neurons)) * np.linspace(0.2, 2, n_neurons)


def _dense(X, part, ridge, n, noise=0.0):
    """Encoders and decoders from the singular vectors of [A X, mu A], `X` (neuron, cell)."""
    mu = ridge * np.linalg.norm(X)
    gram = X @ X.T + noise + mu**2 * np.eye(len(X))
    A = part @ X.T @ np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
    root = np.linalg.cholesky(noise) if np.ndim(noise) else np.zeros((len(X), 0))
    U = np.linalg.svd(np.hstack([A @ X, mu * A, A @ root]))[0][:, :n]
    return U.T, U.T @ A


def _flat(tensor):
    return tensor.reshape(-1, tensor.shape[-1]).T


# 7 neurons; more than there are cells; fewer rows of a part than half the neurons.
@pytest.mark.parametrize("n_neurons", [7, 60, 30])
@pytest.mark.parametrize("ridge", [0.0, 0.02, 0.5])
def test_is_the_published_closed_form(n_neurons, ridge):
    averages = _averages(n_neurons)
    regression = DemixedRegression(contrasts(averages, TERMS))
    X = _flat(averages - averages.mean(axis=(0, 1, 2)))
    assert regression.squared_norm == pytest.approx(np.sum(X**2))
    for name, part in marginalise(averages, FACTORS).items():
        encoders, decoders = _dense(X, _flat(part), ridge, 3)
        found = regression.solve(name, 3, ridge)
        sign = np.sign(np.sum(encoders * found.encoders, axis=1, keepdims=True))
        np.testing.assert_allclose(sign * found.encoders, encoders, atol=1e-9)
        np.testing.assert_allclose(sign * found.decoders, decoders, atol=1e-9)


def test_noise_adds_to_the_covariance():
    averages = _averages(6)
    root = np.random.default_rng(1).normal(size=(6, 6))
    noise = root @ root.T
    regression = DemixedRegression(contrasts(averages, TERMS), noise=noise)
    X = _flat(averages - averages.mean(axis=(0, 1, 2)))
    for name, part in marginalise(averages, FACTORS).items():
        encoders, decoders = _dense(X, _flat(part), 0.1, 2, noise)
        found = regression.solve(name, 2, 0.1)
        sign = np.sign(np.sum(encoders * found.encoders, axis=1, keepdims=True))
        np.testing.assert_allclose(sign * found.encoders, encoders, atol=1e-9)
        np.testing.assert_allclose(sign * found.decoders, decoders, atol=1e-9)


@pytest.mark.parametrize("n_neurons", [7, 60])
@pytest.mark.parametrize("ridge", [0.0, 1e-7, 1e-3, 0.5])
def test_one_penalty_alone_gives_the_same_axes(n_neurons, ridge):
    # Averages of 60 neurons have 39 dimensions: only a penalty makes up for the others.
    parts = contrasts(_averages(n_neurons), TERMS)
    of_many, of_one = DemixedRegression(parts), DemixedRegression(parts, ridge=ridge)
    for name in parts:
        for found, expected in zip(of_one.solve(name, 3, ridge), of_many.solve(name, 3, ridge)):
            sign = np.sign(np.sum(found * expected, axis=1, keepdims=True))
            np.testing.assert_allclose(sign * found, expected, rtol=1e-10, atol=1e-10)
    assert ("_spectrum" in vars(of_one)) == (n_neurons == 60 and ridge < 1e-6)
    # Another penalty may be asked for nevertheless.
    np.testing.assert_array_equal(
        of_one.solve("time", 2, 0.2).encoders, of_many.solve("time", 2, 0.2).encoders
    )


def test_one_penalty_alone_on_a_singular_covariance():
    # The same neurons twice: eigenvectors settle what Cholesky's factor cannot.
    averages = _averages(7)
    twice = np.concatenate([averages, averages], axis=-1)
    of_one = DemixedRegression(contrasts(twice, TERMS), ridge=0.0)
    of_half = DemixedRegression(contrasts(averages, TERMS))
    found, expected = (r.solve("stimulus", 3, 0.0) for r in (of_one, of_half))
    for axes, once in zip(found, expected):
        np.testing.assert_allclose(axes[:, :7], axes[:, 7:], atol=1e-9)
        cosines = np.abs(np.sum(axes[:, :7] * once, axis=1))
        lengths = np.linalg.norm(axes[:, :7], axis=1) * np.linalg.norm(once, axis=1)
        np.testing.assert_allclose(cosines, lengths, rtol=1e-9)


def test_no_other_axes_have_a_smaller_loss():
    averages = _averages(7)
    regression = DemixedRegression(contrasts(averages, TERMS))
    X = _flat(averages - averages.mean(axis=(0, 1, 2)))
    part = _flat(marginalise(averages, FACTORS)["stimulus"])
    mu = 0.1 * np.linalg.norm(X)

    def loss(F, D):
        return np.sum((part - F.T @ D @ X) ** 2) + mu**2 * np.sum((F.T @ D) ** 2)

    F, D = regression.solve("stimulus", 2, 0.1)
    np.testing.assert_allclose(F @ F.T, np.eye(2), atol=1e-12)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            moved = [axis + size * rng.normal(size=axis.shape) for axis in (F, D)]
            assert loss(*moved) > loss(F, D)


def test_finds_no_more_components_than_a_part_has():
    averages = _averages(20)
    averages[:, 1] = averages[:, 0]  # the decision changes nothing
    rank_one = np.outer(np.arange(40), np.ones(20)).reshape(4, 2, 5, 20)
    regression = DemixedRegression(contrasts(averages, TERMS))
    assert regression.solve("decision", 5, 0.0).encoders.shape == (0, 20)
    assert regression.solve("stimulus", None, 0.0).encoders.shape == (15, 20)
    assert regression.solve("stimulus", 0, 0.0).decoders.shape == (0, 20)
    single = DemixedRegression(contrasts(rank_one, TERMS))
    assert single.solve("stimulus", 4, 0.0).encoders.shape == (1, 20)


def test_variance_is_by_reconstruction_and_never_above_one():
    # Neurons by cells [[1, -1, 1, -1], [2, -2, 0, 0]]; the component reads the sum, and writes
    # neuron 0: 1 - 16 / 12, where the variance of the component itself is 20 / 12.
    rows = np.array([[1.0, 2], [-1, -2], [1, 0], [-1, 0]])
    regression = DemixedRegression({"all": rows})
    axes = DemixedAxes(np.array([[1.0, 0]]), np.array([[1.0, 1]]))
    assert regression.variance(axes)["all"] / 12 == pytest.approx(-1 / 3)
    assert regression.joint_variance(axes) / 12 == pytest.approx(-1 / 3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        axes = DemixedAxes(*rng.normal(size=(2, 3, 2)))
        assert (regression.variance(axes)["all"] <= 12).all()
        assert regression.joint_variance(axes) <= 12


@pytest.mark.parametrize("n_neurons", [7, 60])
def test_variance_adds_up_over_parts_and_within_a_part(n_neurons):
    averages = _averages(n_neurons)
    regression = DemixedRegression(contrasts(averages, TERMS))
    X = _flat(averages - averages.mean(axis=(0, 1, 2)))
    axes = regression.solve("stimulus", 4, 0.05)
    by_part = regression.variance(axes)
    for name, part in marginalise(averages, FACTORS).items():
        flat = _flat(part)
        for k, (f, d) in enumerate(zip(*axes)):
            left = np.sum((flat - np.outer(f, d @ flat)) ** 2)
            assert by_part[name][k] == pytest.approx(np.sum(flat**2) - left, abs=1e-9)
    together = np.sum(X**2) - np.sum((X - axes.encoders.T @ axes.decoders @ X) ** 2)
    assert sum(v.sum() for v in by_part.values()) == pytest.approx(together)
    assert regression.joint_variance(axes) == pytest.approx(together)


def test_the_largest_loading_of_an_encoder_is_positive():
    axes = DemixedAxes(np.array([[0.6, -0.8], [0.8, 0.6]]), np.array([[1.0, 2], [3, 4]]))
    turned = oriented(axes)
    np.testing.assert_array_equal(turned.encoders, [[-0.6, 0.8], [0.8, 0.6]])
    np.testing.assert_array_equal(turned.decoders, [[-1, -2], [3, 4]])
