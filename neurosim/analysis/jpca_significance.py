"""Whether a population rotates more than its smoothness and its correlations alone bring about."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .jpca import JPCA
from .maximum_entropy_tensor import maximum_entropy_tensor
from .resampling import as_generator, permutation_p_value


class RotationTest(NamedTuple):
    """How well rotations fit, and how well by chance; see `rotation_test`."""

    r2_skew: float
    r2_skew_p_value: float
    r2_skew_null: np.ndarray
    r2_ratio: float
    r2_ratio_p_value: float
    r2_ratio_null: np.ndarray


def rotation_test(
    X: ActivityLike,
    jpca: JPCA | None = None,
    *,
    n_surrogates: int | np.integer = 200,
    random_state: int | np.integer | np.random.Generator = 0,
) -> RotationTest:
    """Compare the fit of rotations with that to surrogates that are not told to rotate.

    Smooth activity of correlated units is often fitted well by rotations. The surrogates have, in
    expectation, the covariances over times, units and conditions of the activity, normalised and
    without its mean over conditions, and are random otherwise: see `maximum_entropy_tensor`.

    ```python
    found = rotation_test(rates, JPCA(6, dt=0.01))
    found.r2_skew, found.r2_skew_p_value
    ```

    **Arguments:**

    - `X`: `(condition, time, unit)`, averages over trials.
    - `jpca`: the analysis, whose parameters are used; by default `JPCA()`.
    - `n_surrogates`: number of surrogates.
    - `random_state`: a seed or a generator.

    **Returns:** `RotationTest`:

    - `r2_skew`, `r2_ratio`: of the activity, see `JPCA`.
    - `r2_skew_null`, `r2_ratio_null`: `(surrogate,)`, of the surrogates.
    - `r2_skew_p_value`, `r2_ratio_p_value`: share of surrogates, the activity among them, that are
        fitted as well or better; no less than 1 / (n_surrogates + 1).

    **Raises:** what `JPCA.fit` and `maximum_entropy_tensor` raise; `ValueError` for no surrogates.

    **Reference:** Elsayed & Cunningham (2017), Structure in neural population recordings: an
    expected byproduct of simpler phenomena?, Nature Neuroscience 20.
    """
    count = whole_number(n_surrogates, "n_surrogates", least=1)
    rng = as_generator(random_state)
    params: Any = (JPCA() if jpca is None else jpca).get_params()
    fitted = JPCA(**params).fit(X)
    normal = np.asarray(X, np.float64) / fitted.scale_ - fitted.mean_
    surrogates = maximum_entropy_tensor(normal)
    # The activity is normalised already.
    again = JPCA(**(params | {"soft_constant": None}))
    null = np.empty((count, 2))
    for i in range(count):
        again.fit(surrogates.sample(rng))
        null[i] = again.r2_skew_, again.r2_ratio_
    p_skew, p_ratio = np.asarray(
        permutation_p_value(np.array([fitted.r2_skew_, fitted.r2_ratio_]), null)
    )
    return RotationTest(
        fitted.r2_skew_, float(p_skew), null[:, 0], fitted.r2_ratio_, float(p_ratio), null[:, 1]
    )
