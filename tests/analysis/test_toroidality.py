"""Toroidality of diagrams where the best matching is plain."""

import numpy as np
import pytest

from neurosim.analysis.toroidality import toroidality


def bars(*lengths):
    return np.stack([np.full(len(lengths), 0.3), 0.3 + np.array(lengths)], axis=1)


@pytest.mark.parametrize("unit", [1.0, 1e3])
@pytest.mark.parametrize(
    ("lengths", "loops", "voids"),
    [
        # An ideal torus, and an ideal void.
        ((2, 2, 0.1, 0.1), 1, 0),
        ((2, 0.1, 0.1), 0, 1),
        # The second loop is short of the first by 0.5, half the longest being 1.
        ((2, 1.5, 0.1), 0.5, 0.25),
        # The third bar is 0.8 too long, or half its length, 0.5, from no bar.
        ((2, 2, 1, 0.2), 0.5, 0),
        ((2,), 0, 1),
    ],
)
def test_the_worst_bar_decides(lengths, loops, voids, unit):
    diagram = unit * bars(*lengths)
    assert toroidality(diagram) == pytest.approx(loops, abs=1e-9)
    assert toroidality(diagram[::-1], dimension=2) == pytest.approx(voids, abs=1e-9)


def test_no_bars_are_no_torus():
    assert toroidality(np.empty((0, 2))) == 0
    assert toroidality([(1.0, 1.0), (0.0, 1.0)]) == 0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="dimension must be 1"):
        toroidality(bars(1), dimension=0)
    with pytest.raises(ValueError, match="bars that do not end"):
        toroidality([(0, np.inf), (0, 1)])
    with pytest.raises(ValueError, match=r"diagram must be \(bar, 2\)"):
        toroidality(np.ones((3, 3)))
