"""Distances of diagrams that are known in closed form."""

import sys

import numpy as np
import pytest

from neurosim.analysis.diagram_distance import diagram_distance

INF = np.inf


@pytest.mark.parametrize(
    ("first", "second", "bottleneck", "wasserstein"),
    [
        ([(0, 1)], [(0, 1.4)], 0.4, 0.4),
        ([(0, 1)], [], 0.5, 0.7071067811865476),
        ([], [], 0, 0),
        ([(0, 1)], [(0, 1)], 0, 0),
        # Cheaper to match neither: 0.1 and 0.2 rather than 5.
        ([(0, 0.2)], [(5, 5.4)], 0.2, 0.6 / 2**0.5),
        ([(0, 4), (0, 1)], [(0.3, 4.4), (0, 1)], 0.4, 0.5),
        # A bar of no length is none.
        ([(3, 3), (0, 1)], [(0, 1)], 0, 0),
        ([(0, INF), (1, INF)], [(1.5, INF), (0.25, INF)], 0.5, 0.75),
        ([(0, INF), (0, 1)], [(0.1, INF)], 0.5, 0.1 + 0.7071067811865476),
        ([(0, INF)], [], INF, INF),
    ],
)
def test_distances_in_closed_form(first, second, bottleneck, wasserstein):
    for a, b in ((first, second), (second, first)):
        assert diagram_distance(a, b) == pytest.approx(bottleneck, abs=1e-12)
        assert diagram_distance(a, b, kind="wasserstein") == pytest.approx(wasserstein, abs=1e-12)


def test_bars_that_do_not_end_can_be_left_out():
    distance = diagram_distance([(0, INF), (0, 1)], np.empty((0, 2)), infinite="drop")
    assert distance == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("first", "options", "message"),
    [
        ([(0, 1, 2)], {}, r"first must be \(bar, 2\)"),
        ([(1, 0)], {}, "before deaths; bar 0 is"),
        ([(0, 1), (0, np.nan)], {}, "bar 1 is"),
        ([(-INF, 1)], {}, "finite births"),
        ([(0, 1)], {"kind": "hausdorff"}, "kind must be 'bottleneck' or 'wasserstein'"),
        ([(0, 1)], {"infinite": "clip"}, "infinite must be 'pair' or 'drop'"),
    ],
)
def test_bad_input_is_refused(first, options, message):
    with pytest.raises(ValueError, match=message):
        diagram_distance(first, [(0, 1)], **options)


def test_a_missing_persim_is_told_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "persim", None)
    with pytest.raises(ValueError, match=r"needs the package persim.*neurosim-toolkit\[topology\]"):
        diagram_distance([(0, 1)], [])
