import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from neurosim.analysis.estimator import (
    Estimator,
    check_fitted,
    check_n_features,
    read_features,
    refuse_traced,
)


class Mean(Estimator):
    """The mean of each neuron, scaled."""

    def __init__(self, scale=1.0, *, inner=None):
        self.scale = scale
        self.inner = inner

    def fit(self, X, y=None):
        self.mean_ = self.scale * read_features(X).samples.mean(axis=0)
        self.n_features_in_ = len(self.mean_)
        return self

    def transform(self, X):
        check_fitted(self)
        activity = read_features(X)
        check_n_features(self, activity.samples.shape[1])
        return activity.restore(activity.samples - self.mean_)


class Regressor(Estimator):
    estimator_kind = "regressor"
    needs_target = True

    def fit(self, X, y=None):
        return self


def test_parameters_are_those_of_the_constructor():
    assert Mean(2.0).get_params() == {"scale": 2.0, "inner": None}
    assert Regressor().get_params() == {}
    assert repr(Mean(2.0)) == "Mean(scale=2.0, inner=None)"
    nested = Mean(inner=Mean(3.0))
    assert nested.get_params()["inner__scale"] == 3
    assert set(nested.get_params(deep=False)) == {"scale", "inner"}
    assert nested.set_params(scale=5.0, inner__scale=4.0) is nested
    assert (nested.scale, nested.inner.scale) == (5, 4)
    with pytest.raises(ValueError, match="Mean has no parameter 'width'; it has scale and inner"):
        Mean().set_params(width=1)
    with pytest.raises(ValueError, match="Regressor has no parameter 'a'; it has none"):
        Regressor().set_params(a=1)


def test_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Estimator()


def test_scikit_learn_knows_its_kind():
    tags = get_tags(Mean())
    assert tags.estimator_type == "transformer"
    assert tags.transformer_tags is not None
    assert tags.input_tags.three_d_array
    assert not tags.input_tags.allow_nan
    assert not tags.target_tags.required
    assert is_regressor(Regressor())
    assert not is_classifier(Regressor())
    assert get_tags(Regressor()).target_tags.required
    copy = clone(Mean(2.0, inner=Mean(3.0)))
    assert (copy.scale, copy.inner.scale) == (2, 3)


def test_results_before_a_fit_are_refused():
    with pytest.raises(NotFittedError, match="this Mean is not fitted yet: call fit first"):
        Mean().transform(np.zeros((3, 2)))
    with pytest.raises(NotFittedError):
        check_is_fitted(Mean())
    check_is_fitted(Mean().fit(np.zeros((3, 2))))


def test_nothing_of_scikit_learn_is_imported():
    code = """
import sys
from neurosim.analysis import PCA
from neurosim.analysis.estimator import NotFittedError
try:
    PCA().transform([[1.0, 2.0]])
except NotFittedError as error:
    assert isinstance(error, ValueError)
    print(error, "sklearn" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "this PCA is not fitted yet: call fit first. False"


def test_the_number_of_neurons_is_that_of_the_fit():
    mean = Mean().fit(np.zeros((3, 2)))
    message = r"X has 5 features, but Mean is expecting 2 features as input.*neurons, the last axis"
    with pytest.raises(ValueError, match=message):
        mean.transform(np.zeros((3, 5)))


def test_numbers_in_rows_and_objects_are_read():
    rows = [[1.0, 2], [3, 4], [5, 6]]
    for given in (rows, tuple(map(tuple, rows)), np.array(rows, dtype=object), jnp.asarray(rows)):
        activity = read_features(given)
        assert activity.layout == "samples"
        np.testing.assert_array_equal(activity.samples, rows)
    trials = read_features([np.array(rows), np.array(rows)[:2]])
    assert (trials.layout, trials.lengths) == ("list", (3, 2))
    assert read_features([rows, rows]).lengths == (3, 3)
    cells = np.empty(2, dtype=object)
    cells[:] = [np.array(rows), np.array(rows)[:2]]
    assert read_features(cells).lengths == (3, 2)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.zeros(5), ValueError, r"shape \(5,\).*Reshape your data"),
        (np.zeros((12, 0)), ValueError, r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1"),
        (np.zeros((3, 2), complex), ValueError, "Complex data not supported"),
        (np.array([[np.nan, 1], [2, 3]]), ValueError, r"first \(NaN\) at time 0, neuron 0"),
        (np.array([[{}, 1], [2, 3]], dtype=object), TypeError, "must be a string or a real number"),
    ],
)
def test_refusals_are_in_the_words_that_are_looked_for(given, error, message):
    with pytest.raises(error, match=message):
        read_features(given)


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match=r"sparse matrix, which is not supported.*X.toarray"):
        read_features(sparse.csr_array(np.eye(3)))


def test_values_that_are_not_known_yet_are_refused():
    with pytest.raises(TypeError, match=r"the fit is computed in NumPy.*under jit"):
        jax.jit(lambda x: refuse_traced(x, "the fit"))(jnp.zeros(3))
    refuse_traced(jnp.zeros(3), "the fit")
