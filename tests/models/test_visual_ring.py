"""The visual ring: its published constants, and the phenomena that follow from them."""

import diffrax
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.visual_ring import normalization_ring, ring_weights

pytestmark = pytest.mark.usefixtures("double_precision")


def gratings(*pairs):
    """Contrasts at angle indices."""
    x = np.zeros(360)
    for contrast, index in pairs:
        x[index] += contrast
    return x


@pytest.mark.parametrize(("n", "power", "kappa"), [(36, 18, 0.4586296386), (8, 4, 0.6761234038)])
def test_tuning_curves_lie_where_the_recurrent_matrix_is_the_identity(n, power, kappa):
    W_zx, W_r = ring_weights(n)
    theta = 2 * np.pi * np.arange(360) / 360
    np.testing.assert_allclose(W_zx[0], kappa * np.abs(np.cos(theta / 2)) ** power, rtol=3e-10,
                               atol=1e-300)  # fmt: skip
    np.testing.assert_allclose(np.sum(W_zx**2, axis=0), 1, rtol=0, atol=2e-14)
    np.testing.assert_allclose(W_r @ W_zx, W_zx, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(W_r, W_r.T)
    eigenvalues = np.linalg.eigvalsh(W_r)
    assert np.sum(eigenvalues > 1 - 1e-3) == power + 1
    assert eigenvalues.max() == pytest.approx(1, abs=1e-14)
    if n == 36:
        assert eigenvalues.min() == pytest.approx(-0.02378, abs=5e-6)


def test_constants_of_large_rings_do_not_overflow():
    W_zx, W_r = ring_weights(360, 8)
    np.testing.assert_allclose(np.sum(W_zx**2, axis=0), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(W_r @ W_zx, W_zx, rtol=0, atol=1e-13)


def test_responses_are_normalized_and_masked_exactly():
    model = normalization_ring()
    contrasts = (0.05, 0.1, 0.25, 1.0)
    xs = [gratings((c, 0)) for c in contrasts]
    xs.append(gratings((0.1, 0), (0.1, 180)))
    xs.append(gratings((0.1, 0)))
    point = model.fixed_point(np.stack(xs))
    assert point.converged.all()
    assert point.stable.all()
    total = np.sum(np.asarray(point.y) ** 2, axis=1)
    np.testing.assert_allclose(total[:4], [0.2, 0.5, 0.8620689655, 0.9900990099], rtol=1e-9)
    # The rate y^2 under an orthogonal mask of equal contrast: 2/3 but for the overlap of the
    # receptive fields.
    np.testing.assert_allclose((point.y[4, 0] / point.y[5, 0]) ** 2, 0.6666642856, rtol=1e-9)
    # The collective mode starts to oscillate above c = .1066878691.
    expected = {2: 27.1098, 3: 52.5968}
    for i, frequency in expected.items():
        state = point._replace(y=point.y[i], a=point.a[i])
        eigenvalues = np.linalg.eigvals(np.asarray(model.jacobian(state)))
        assert np.abs(eigenvalues.imag).max() / (2 * np.pi) == pytest.approx(frequency, abs=6e-5)
    state = point._replace(y=point.y[1], a=point.a[1])
    assert np.abs(np.linalg.eigvals(np.asarray(model.jacobian(state))).imag).max() < 1e-3


def test_the_onset_of_a_grating_overshoots():
    model = normalization_ring()
    run = simulate(
        model, np.repeat(gratings((1.0, 0))[None], 4000, 0), dt=2e-5, solver=diffrax.Tsit5(),
        save="outputs",
    )  # fmt: skip
    y = run.outputs[:, 0]
    assert y.max() == pytest.approx(0.77704, abs=1e-5)
    assert run.ts[np.argmax(y)] == pytest.approx(0.00888, abs=1.5e-5)
    assert y[-1] == pytest.approx(0.45635, abs=5e-5)


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_sizes_are_refused():
    for n, m in ((7, 360), (36, 0), (8.5, 360)):
        with pytest.raises(ValueError, match="must be a whole number"):
            ring_weights(n, m)  # pyright: ignore[reportArgumentType]
