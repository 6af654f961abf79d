"""Tables of pandas serve as epochs and as labels."""

import numpy as np
import pandas as pd
import pytest

from neurosim.analysis.io.condition_averages import average_by
from neurosim.analysis.io.spikes import bin_spikes

TRIALS = pd.DataFrame(
    {"start_time": [0.0, 1.0, 2.0], "stop_time": [1.0, 2.0, 3.0], "cue": ["a", "b", "a"]},
    index=[7, 8, 9],
)


def test_a_table_of_trials():
    counts = bin_spikes([0.25, 2.75], epochs=TRIALS, bin=0.5)
    np.testing.assert_array_equal(counts.counts[..., 0], [[1, 0], [0, 0], [0, 1]])
    found = average_by(counts.counts, {"cue": counts.labels["cue"]})
    np.testing.assert_array_equal(found.averages[..., 0], [[0.5, 0.5], [0, 0]])


def test_a_table_of_labels():
    X = np.arange(3.0)[:, None, None]
    found = average_by(X, TRIALS[["cue"]])
    np.testing.assert_array_equal(found.averages[:, 0, 0], [1, 1])
    assert found.levels["cue"].tolist() == ["a", "b"]
    for missing in (None, pd.NA, np.nan):
        broken = TRIALS.assign(cue=pd.array(["a", missing, "b"], dtype="string"))
        with pytest.raises(ValueError, match="missing for trial 1"):
            average_by(X, broken[["cue"]])
