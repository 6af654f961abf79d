"""Numerical rank of matrices whose rank is known, and the refusal of dependent units."""

import numpy as np
import pytest

from neurosim.analysis.numerical_rank import numerical_rank, refuse_dependent_units

EPS = 2.0**-52


def _singular(matrix):
    return np.linalg.svd(matrix, compute_uv=False)


@pytest.mark.parametrize("rank", [1, 3, 7])
@pytest.mark.parametrize("shape", [(60, 8), (8, 60)])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_products_have_the_rank_of_their_factors(rank, shape, scale):
    rng = np.random.default_rng(rank)
    matrix = scale * rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    assert numerical_rank(_singular(matrix), shape).rank == rank
    assert np.linalg.matrix_rank(matrix) == rank


def test_the_threshold_is_rounding_of_the_largest():
    # 100 eps times 4: a value at the threshold is rounding, the next float above it is not.
    threshold = 400 * EPS
    for last, rank in ((threshold, 2), (np.nextafter(threshold, 1), 3)):
        found = numerical_rank(np.array([4.0, 1.0, last]), (100, 3))
        assert found == (rank, threshold)
        assert type(found.rank) is int
        assert type(found.threshold) is float
    assert numerical_rank(np.array([4.0, 1.0], np.float32), (2, 2)).threshold == 8 * 2.0**-23


def test_zeros_have_rank_zero():
    assert numerical_rank(_singular(np.zeros((5, 3))), (5, 3)) == (0, 0.0)


def test_dependent_units_are_refused():
    independent = np.eye(5)[:, :3]
    refuse_dependent_units(_singular(independent), (5, 3), "X")
    # Singular values 3, 1 and 0: the sum of the first two units is the third.
    X = np.array([[1.0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 2]])
    message = (
        r"the 3 units of X are linearly dependent in n_samples=4: numerical rank 2 \(singular "
        r"values of the samples above .*e-15, the largest 3\.0e\+00\)\. .*keep 2 principal "
        "components, or set regularisation above 0"
    )
    with pytest.raises(ValueError, match=message):
        refuse_dependent_units(_singular(X), (4, 3), "X")
    with pytest.raises(ValueError, match=r"numerical rank 2 .*keep 2"):
        refuse_dependent_units(np.ones(2), (2, 3), "Y")
