"""scikit-learn's checks of an estimator, run as its users would run them."""

import contextlib
import warnings

import jaxtyping
from sklearn.utils import estimator_checks

# Needs SCIPY_ARRAY_API, which has to be set before SciPy is imported.
NOT_RUN = {"check_array_api_input"}

# What an estimator cannot pass whose samples are steps of time.
ORDER_OF_TIME = {
    "check_methods_sample_order_invariance": "the order of samples is time",
    "check_methods_subset_invariance": "a part of the samples is another stretch of time",
}


@contextlib.contextmanager
def unchecked_signatures():
    """Leaves refusing to the functions themselves, as for users, who have no type checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def assert_passes_the_checks_of_scikit_learn(estimator, *, but_for=None, may_skip=()):
    """All checks pass but for exactly those named; an unforeseen failure raises as it stands.

    **Arguments:**

    - `but_for`: names of the checks that have to fail, each with the reason.
    - `may_skip`: names of checks that need not run, besides the one for other array libraries.
    """
    but_for = but_for or {}
    with unchecked_signatures(), warnings.catch_warnings():
        # Our estimators are such by their methods and import nothing of scikit-learn.
        name = type(estimator).__name__
        warnings.filterwarnings("ignore", f"Estimator {name} does not inherit")
        results = estimator_checks.check_estimator(
            estimator, on_skip=None, expected_failed_checks=but_for
        )
    assert len(results) > 40
    unmet = [(r["check_name"], r["status"]) for r in results if r["status"] != "passed"]
    assert sorted(check for check, status in unmet if status == "xfail") == sorted(but_for)
    skipped = [check for check, status in unmet if status == "skipped"]
    assert len(skipped) == len(set(skipped))
    assert set(skipped) <= NOT_RUN | set(may_skip)
    assert {status for _, status in unmet} <= {"xfail", "skipped"}
