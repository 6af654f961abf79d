"""Numbers of components, folds or shuffles that are no whole numbers are refused, never rounded."""

import numpy as np
import pytest

from neurosim.analysis import (
    DPCA,
    JPCA,
    CrossValidatedPCA,
    NullPotent,
    align_to_events,
    autocorrelation,
    bi_cross_validation,
    cross_validated_spectrum,
    dimension_of_shuffles,
    dpca_significance,
    lyapunov_spectrum,
    ring_persistence,
)

FACTORS = ("stimulus", "time")
rng = np.random.default_rng(0)
X = rng.normal(size=(6, 8, 5))
LABELS = np.arange(6) % 3
CROSSED = rng.normal(size=(4, 3, 8, 5))


def _dpca(**settings):
    return DPCA(FACTORS, **{"ridge": 0.1, **settings}).fit(CROSSED)


def _significance(name):
    return lambda n: dpca_significance(_dpca(), CROSSED, **{name: n})


CALLS = {
    "align_to_events": ("before", lambda n: align_to_events(X[..., 0], 4, before=n, after=1)),
    "autocorrelation": ("max_lag", lambda n: autocorrelation(X, n)),
    "bi_cross_validation, folds": ("n_folds", lambda n: bi_cross_validation(X, n_folds=n)),
    "bi_cross_validation, repeats": ("n_repeats", lambda n: bi_cross_validation(X, n_repeats=n)),
    "bi_cross_validation, most": (
        "max_components", lambda n: bi_cross_validation(X, max_components=n),
    ),
    "cross_validated_spectrum": (
        "n_shuffles", lambda n: cross_validated_spectrum(X, n_shuffles=n),
    ),
    "CrossValidatedPCA": (
        "n_splits", lambda n: CrossValidatedPCA(n_splits=n).fit(X, LABELS),
    ),
    "dimension_of_shuffles": ("n_shuffles", lambda n: dimension_of_shuffles(X, n_shuffles=n)),
    "DPCA": ("n_splits", lambda n: _dpca(n_splits=n)),
    "dpca_significance, components": ("n_components", _significance("n_components")),
    "dpca_significance, splits": ("n_splits", _significance("n_splits")),
    "dpca_significance, shuffles": ("n_shuffles", _significance("n_shuffles")),
    "dpca_significance, run": ("n_consecutive", _significance("n_consecutive")),
    "JPCA": ("n_components", lambda n: JPCA(n).fit(X)),
    "lyapunov_spectrum": (
        "transient",
        lambda n: lyapunov_spectrum(np.sin, np.ones(1), n_steps=9, kind="map", transient=n),
    ),
    "NullPotent": ("n_dimensions", lambda n: NullPotent(1, n_dimensions=n).fit(X, X[..., :2])),
    "ring_persistence": ("n_landmarks", lambda n: ring_persistence(X[0], n_landmarks=n)),
}  # fmt: skip


@pytest.mark.usefixtures("unchecked_signatures")
@pytest.mark.parametrize("name", CALLS)
def test_a_fraction_is_refused_by_name(name):
    argument, call = CALLS[name]
    with pytest.raises(ValueError, match=rf"^{argument} must be a whole number, got 5\.5\.$"):
        call(5.5)


@pytest.mark.usefixtures("unchecked_signatures")
def test_the_parts_of_dpca_are_counted_in_whole_numbers():
    with pytest.raises(ValueError, match="n_components must be whole numbers, not negative; got 2"):
        _dpca(n_components=2.5)
