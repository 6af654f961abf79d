"""Theta series of lattices that are known."""

import numpy as np
import pytest

from neurosim.analysis.lattice_spectrum import lattice_spectrum

HEXAGONAL = np.array([[1.0, 0.5], [0.5, 1.0]])


def test_the_series_of_the_hexagonal_and_the_square_lattice():
    result = lattice_spectrum(HEXAGONAL, n_energies=12)
    np.testing.assert_allclose(result.energies, [1, 1, 1, 3, 3, 3, 4, 4, 4, 7, 7, 7])
    assert (result.lattice, result.angle, result.ratio) == ("hexagonal", pytest.approx(60), 1)
    assert result.misfit["hexagonal"] == pytest.approx(0, abs=1e-12)
    square = lattice_spectrum(np.eye(2), n_energies=10)
    np.testing.assert_allclose(square.energies, [1, 1, 2, 2, 4, 4, 5, 5, 5, 5])
    assert (square.lattice, square.angle) == ("square", pytest.approx(90))
    apart = np.mean(np.abs(np.log(np.array([1, 1, 1, 3, 3, 3, 4, 4]) / [1, 1, 2, 2, 4, 4, 5, 5])))
    assert square.misfit["hexagonal"] == pytest.approx(apart)


@pytest.mark.parametrize("basis", [[[1, 0], [0, 1]], [[2, 1], [1, 1]], [[5, 3], [3, 2]]])
@pytest.mark.parametrize(("gram", "name"), [(HEXAGONAL, "hexagonal"), (np.eye(2), "square")])
def test_any_basis_and_unit_gives_the_same(basis, gram, name):
    basis = np.array(basis)
    result = lattice_spectrum(7e-9 * basis @ gram @ basis.T)
    plain = lattice_spectrum(gram)
    assert result.lattice == name
    np.testing.assert_allclose(result.energies, plain.energies)
    assert result.angle == pytest.approx(plain.angle)
    assert result.ratio == pytest.approx(1)


def test_a_long_rectangle_is_neither():
    result = lattice_spectrum(np.diag([4.0, 1.0]))
    np.testing.assert_allclose(result.energies, [1, 4, 4, 5, 5, 8, 8, 9])
    assert (result.lattice, result.ratio) == ("neither", 2)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.eye(3), r"gram must be \(2, 2\)"),
        (np.ones((2, 2)), "positive definite"),
        (np.array([[1.0, 0.2], [0.3, 1.0]]), "symmetric"),
        (np.full((2, 2), np.nan), "finite"),
    ],
)
def test_bad_input_is_refused(gram, message):
    with pytest.raises(ValueError, match=message):
        lattice_spectrum(gram)
    with pytest.raises(ValueError, match="n_energies must be at most"):
        lattice_spectrum(np.eye(2), n_energies=1000)
