"""Stability and phenomena of normalization circuits: what the experiments find and refuse."""

import dataclasses

import numpy as np
import pytest

from neurosim.experiments import get_experiment, load_result, run_experiment


def _run(name, tmp_path, **changes):
    experiment = get_experiment(name)
    config = dataclasses.replace(experiment.presets["quick"], **changes)
    result = run_experiment(experiment, config, run_dir=tmp_path / "run", progress=False)
    assert set(load_result(tmp_path / "run", experiment).arrays) == set(result.arrays)
    figures = sorted((tmp_path / "run" / "figures").glob("*.png"))
    assert all(path.stat().st_size > 5000 for path in figures)
    return result, {path.stem for path in figures}


def test_identity_circuits_are_stable_and_others_are_counted(tmp_path):
    result, figures = _run(
        "organics_stability", tmp_path, theorem_circuits=90, theorem_sizes=(1, 4, 12), draws=20,
        sizes=(2, 6), norms=(1.0,), largest_gains=(1.0, 8.0), energy_circuits=5, grid=21,
    )  # fmt: skip
    assert {"theorem", "conjecture", "iteration", "energy", "basins"} <= figures
    assert result.summary["theorem_unstable"] == 0
    # Weights of either sign make some circuits unstable: about 2 % of 5,000 draws in float64.
    assert result.summary["control_unstable"] > 20
    shares = {
        (c["recurrence"], c["n"], c["largest_b"]): c["stable"] for c in result.summary["conjecture"]
    }
    assert shares["gaussian", 6, 1.0] >= 0.9
    assert shares["gaussian", 6, 8.0] <= 0.6
    # Round by round the iteration comes nearer to the rest point; some circuits are slow.
    errors = result.arrays["iteration.errors"].mean(axis=0)
    assert errors[0] < 0.3
    assert errors[10] < 0.02 * errors[0]
    # Near the rest point the energy falls along every trajectory.
    assert result.summary["energy_falls_0.1"] == 1
    # The published bistable circuit: two attracting points, and most starts go to the first.
    points = np.asarray(result.summary["bistable_points"])
    np.testing.assert_allclose(points, [[0.9977786, 0.5633352], [-0.9788856, 0.0598328]], atol=1e-6)
    shares = np.asarray(result.summary["bistable_shares"])
    assert shares[0] > 0.7
    assert 0.02 < shares[1] < 0.3


def test_phenomena_agree_with_their_closed_forms(tmp_path):
    result, figures = _run(
        "organics_phenomena", tmp_path, n_ring=8, contrasts=(0.02, 0.05, 0.1, 0.3, 1.0),
        masks=(0.0, 0.3), shown_contrasts=(0.1, 1.0), duration=1.0,
    )  # fmt: skip
    assert figures == {"contrast", "time", "memory", "surround", "supralinear"}
    said = result.summary

    def measured(name):
        return float(said[name]["measured"])

    assert measured("contrast at half the response of the ring") == pytest.approx(0.1, abs=1e-3)
    assert measured("exponent of the contrast response") == pytest.approx(2, abs=1e-2)
    assert said["peak of the power of y at contrast 0.1 (Hz)"]["measured"] == "none"
    assert measured("peak of the power of y at contrast 1 (Hz)") == pytest.approx(51.14, abs=0.2)
    assert measured("loaded after 100 ms, share of the input") == pytest.approx(0.9932621, abs=1e-6)
    assert measured("turns per second of an oscillating memory") == pytest.approx(10, abs=1e-3)
    assert measured("SSN ring, summation index at contrast 5") == pytest.approx(1.3433, abs=1e-4)
    preferred = result.arrays["surround.sizes"][result.arrays["surround.organics"].argmax(axis=1)]
    assert preferred[1] < preferred[0]


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("organics_stability", {"draws": 0}, "draws must be at least 1"),
        ("organics_stability", {"sizes": ()}, "must not be empty"),
        ("organics_stability", {"sizes": (0, 2)}, "at least 1"),
        ("organics_stability", {"flow_time": -1.0}, "flow_time must be positive"),
        ("organics_phenomena", {"n_ring": 4}, "n_ring must be at least 8"),
        ("organics_phenomena", {"contrasts": (0.1, 0.2)}, "four different"),
        ("organics_phenomena", {"masks": (0.1,)}, "begin with 0"),
        ("organics_phenomena", {"noise": 0.0}, "noise must be positive"),
        ("organics_phenomena", {"dt": 0.0}, "dt must be positive"),
    ],
)
def test_configs_that_make_no_sense_are_refused(name, changes, said):
    with pytest.raises(ValueError, match=said):
        dataclasses.replace(get_experiment(name).presets["quick"], **changes)
