"""What several seeds have in common, where some of them may be missing."""

from typing import NamedTuple

import numpy as np


class AcrossSeeds(NamedTuple):
    """Median and range over the seeds that have a value, `(point,)`; NaN where none has."""

    median: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


def across_seeds(values: np.ndarray) -> AcrossSeeds:
    """Median and range over seeds, leaving out values that are NaN or infinite.

    **Arguments:**

    - `values`: `(seed, point)`.

    **Returns:** `AcrossSeeds`.
    """
    # NumPy's own functions that skip NaN warn where nothing is left.
    known = np.ma.masked_invalid(np.asarray(values, dtype=float))
    summaries = (np.ma.median(known, axis=0), known.min(axis=0), known.max(axis=0))
    return AcrossSeeds(*(np.ma.filled(summary, np.nan) for summary in summaries))
