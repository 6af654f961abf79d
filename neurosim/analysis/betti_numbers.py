"""How many components, loops and voids of a cloud stand out from the short-lived ones."""

from collections.abc import Sequence

import numpy as np

from .rips_persistence import RipsPersistence
from .shuffled_persistence import ShuffledPersistence

# In units of the size of the cloud: what is too short to count, and what the next may be taken for.
_SHORTEST = 0.25
_FLOOR = 0.125
_LEAST_RATIO = 1.75
_MOST = 11


def betti_numbers(
    persistence: RipsPersistence, *, null: ShuffledPersistence | None = None
) -> tuple[int, ...]:
    """Betti numbers: bars that stand out, by the largest gap or against shuffles.

    Lengths are in units of the size of the cloud. By the gap, the number is where the ratio of a
    bar's length to the next is largest, if that is at least 1.75; 0 if not. Bars shorter than 0.25
    are left out, the next is counted as 0.125 at least, and no more than 11 are looked for.

    Against shuffles (`null`), bars count that are longer than the longest of all shuffles. That
    counts too many where there are few landmarks, or points on an exact lattice: short bars of a
    smooth manifold can be longer than those of a shapeless cloud. The gap does not count them.

    ```python
    persistence = rips_persistence(manifold_cloud(X))
    betti_numbers(persistence)
    betti_numbers(persistence, null=shuffled_persistence(X, n_shuffles=20))
    ```

    **Arguments:**

    - `persistence`: of `rips_persistence`. Bars that do not end count up to its threshold.
    - `null`: of `shuffled_persistence`, by the same steps.

    **Returns:** the number of each dimension: (components, loops, voids). There is one component at
    least. (1, 2, 1) is a torus, (1, 1, 0) a ring, (1, 0, 1) a sphere.

    **Raises:** `ValueError` for a null of fewer dimensions.

    **Reference:** the gap is ours; shuffles as in Gardner et al. (2022), Nature 602, 123-128.
    """
    # Landmarks that are all infinitely far apart have no size.
    size = persistence.size or 1.0
    lengths = [bars / size for bars in bar_lengths(persistence)]
    if null is None:
        counts = [_before_the_gap(bars, lasts=q == 0) for q, bars in enumerate(lengths)]
    else:
        if null.longest.shape[1] < len(lengths):
            raise ValueError(
                f"null has {null.longest.shape[1]} dimensions, the persistence {len(lengths)}: "
                "shuffle with the same max_dim."
            )
        counts = [int(np.sum(bars > null.longest[:, q].max())) for q, bars in enumerate(lengths)]
    # Parts that are never joined are components whatever else there is.
    apart = int(np.isinf(persistence.diagrams[0][:, 1]).sum())
    return (max(counts[0], apart, 1), *counts[1:])


def bar_lengths(persistence: RipsPersistence) -> Sequence[np.ndarray]:
    """Lengths of bars by dimension, longest first; bars that do not end, up to the threshold."""
    end = persistence.threshold
    return [-np.sort(d[:, 0] - np.minimum(d[:, 1], end)) for d in persistence.diagrams]


def _before_the_gap(lengths: np.ndarray, *, lasts: bool) -> int:
    padded = np.zeros(_MOST + 1)
    padded[: len(lengths)] = lengths[: _MOST + 1]
    ratio = padded[:-1] / np.maximum(padded[1:], _FLOOR)
    ratio[padded[:-1] < _SHORTEST] = 0.0
    if lasts:
        # There is a bar for every point: what comes after the last is no gap.
        ratio[max(len(lengths) - 1, 0) :] = 0.0
    best = int(np.argmax(ratio))
    return best + 1 if ratio[best] >= _LEAST_RATIO else 0
